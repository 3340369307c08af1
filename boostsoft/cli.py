"""The command line: ``python -m boostsoft demo``, ``train``, ``track``, ``blend`` and ``bench``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from . import __version__
from .bench.command import add_bench
from .commands.blend import add_blend
from .commands.options import FAILED, interrupted, stop
from .commands.track import add_track
from .commands.train import add_demo, add_train


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or 2 after an error (one line on stderr), or 130 if interrupted."""
    try:
        options = _parser().parse_args(arguments)
        options.run(options)
    except KeyboardInterrupt:
        return interrupted()
    except (ImportError, OSError, ValueError) as error:
        return stop(str(error), FAILED)
    except MemoryError as error:
        return stop(f"not enough memory: {error}", FAILED)
    except Exception as error:
        if not _is_of_a_booster(error):
            raise
        return stop(re.sub(r" at \S+, line \d+ *\.?", "", str(error)), FAILED)  # no place in LightGBM's own source
    return 0


def _is_of_a_booster(error: Exception) -> bool:
    """Whether LightGBM or CatBoost raised an error; neither is loaded to find out, which takes a second or two."""
    lightgbm, catboost = sys.modules.get("lightgbm"), sys.modules.get("catboost")
    if lightgbm is not None and isinstance(error, lightgbm.basic.LightGBMError):
        return True
    return catboost is not None and isinstance(error, catboost.CatBoostError)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, reported like all others."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is not known here: the parser of all commands, to which it was left, has another help."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m boostsoft", description="Train on soft ranking metrics, track trees and blend rankers by them."
    )
    parser.add_argument("--version", action="version", version=f"boostsoft {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="{demo,train,track,blend,bench}")
    for add in (add_demo, add_train, add_track, add_blend, add_bench):
        add(commands)
    return parser
