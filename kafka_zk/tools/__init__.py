"""Commands, one package each: they parse arguments and print; the packages below do the work."""

import sys
from types import TracebackType


def _tell_unless_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:
    # `python -m` imports one of these first: a Ctrl-C during its imports must be as silent as a later one.
    sys.excepthook = _tell_unless_interrupted
