"""Reading LETOR / SVMlight text (private: `boostsoft.datasets.load_letor` is the public face).

Three layers: `lines` takes comments away, `chunk` parses some thousand lines, `reader` goes over chunks and files and
makes arrays.
"""

from .reader import Reader

__all__ = ["Reader"]
