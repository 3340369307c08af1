"""Reading and writing TREC run files (private: `boostsoft.datasets` is the public face)."""
