"""Commands, one package each: they parse arguments and print; the work is done in the rooms below."""

import sys
from types import TracebackType


def _tell_unless_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:
    # `python -m` looks for one of these: a Ctrl-C while its modules are imported is no more to be told of than later.
    sys.excepthook = _tell_unless_interrupted
