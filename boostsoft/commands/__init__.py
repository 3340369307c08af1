"""The commands of ``python -m boostsoft`` but for its benchmark, and what all commands have in common."""
