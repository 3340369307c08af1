"""``python -m boostsoft``.

LightGBM's OpenMP threads spin for milliseconds whenever one waits for another, on cores that the engine's threads or
another program could use: 40 trees on two busy cores took 33 to 62 s spinning and 11 to 14 s sleeping. OpenMP reads
the policy when it is loaded, so it is set before that, in this process only and unless the user has set it.
"""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from .cli import main

    sys.exit(main())
