"""A process whose wall clock can be set while it runs, Java's and Python's alike. Needs a C compiler.

Only the wall clock moves, as when an administrator sets the time of a machine; waits and timers go on as before.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
SHIFT = struct.Struct("=q")


class ShiftedClock:
    """The clock of the processes that `command` starts; its files are in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._library = folder / "shifted_clock.so"
        self._file = folder / "shift"
        self._file.write_bytes(SHIFT.pack(0))
        subprocess.run(
            ["cc", "-O1", "-shared", "-fPIC", "-o", str(self._library), str(SOURCE), "-ldl", "-lpthread"],
            check=True,
            capture_output=True,
        )

    def command(self, command: Sequence[str]) -> list[str]:
        """What runs `command` with this clock; the process has the command's own pid."""
        return ["env", f"LD_PRELOAD={self._library}", f"SHIFTED_CLOCK={self._file}", *command]

    def set(self, ahead_s: int) -> None:
        """How far the clock is ahead of the machine's, from now on."""
        with self._file.open("r+b") as file:
            file.write(SHIFT.pack(ahead_s))
