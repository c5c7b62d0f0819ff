"""How files go to the processes of a run with `-n 2 --dist loadfile`: each stays together, for its fixtures.

Those that run Spark count as one, and begin: Spark takes both cores by itself. Beside it there is room for tests that
wait, not for another Spark; and as what takes longest it must not be what is waited for at the end.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

SPARK = "spark"


def group_of(nodeid: str) -> str:
    """The file of a test, or what it shares with other files."""
    file = nodeid.partition("::")[0]
    name = file.rpartition("/")[2]
    return SPARK if "spark" in name or "pipeline" in name else file


class Scheduling(LoadFileScheduling):
    """Sends the tests of a group to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
