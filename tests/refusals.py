"""How the command line refuses what it is given."""

from __future__ import annotations

from boostsoft import cli


def bench_refuses(arguments, message, capsys, out, **places):
    """One line with the message, exit status 2 and no folder of results; ``places`` fill both texts."""
    given = [argument.format(**places) for argument in arguments]
    assert cli.main(["bench", *given, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message.format(**places) in error, error
    assert error.count("\n") == 1, error
    assert not out.exists()
