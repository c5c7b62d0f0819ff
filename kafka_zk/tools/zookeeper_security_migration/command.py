"""Sets the access list of every znode of a cluster.

Role        Acts, through the session, whose own decision about protection is what it writes.
Invariants  `/` alone, and all that is below the roots: other programs' znodes in the same chroot stay as they are.
            A znode that refuses is told of and keeps no other from its list; the end is an error then.
Source      kafka.admin.ZkSecurityMigrator; ZkData.SecureRootPaths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_zk.zk.errors import NoAuth, NoNode, ZkError
from kafka_zk.zk.session import ZkClient

CONTROLLER = "/controller"
SECURE_ROOTS = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    CONTROLLER,
    "/controller_epoch",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/delegation_token",
    "/kafka-acl-extended",
    "/migration",
    "/feature",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended/prefixed",
    "/kafka-acl-extended-changes",
)
NO_AUTH = -102
MOST_AT_ONCE = 500


def migrate(zk: ZkClient, *, must_be_complete: bool) -> int:
    """Blocks. Give every znode the list that a new one would get; returns the exit code.

    Missing roots are created, but for /controller; with `must_be_complete` they end it. Raises ZkError.
    """
    refused = _told(zk.protect_again(["/"]))
    found = zk.exists_many(SECURE_ROOTS)
    missing = [path for path, stat in zip(SECURE_ROOTS, found, strict=True) if stat is None]
    if missing:
        print(f"Warning: The following secure root paths do not exist in ZooKeeper: {','.join(missing)}")
        print("That might be due to an incorrect chroot is specified when executing the command.")
        if must_be_complete:
            print("Exit the command.")
            return 1
    for root in SECURE_ROOTS:
        if root != CONTROLLER or root not in missing:
            zk.ensure_path(root)
            for paths in _below(zk, root, refused):
                refused += _told(zk.protect_again(paths))
    if refused:
        raise refused[-1]
    return 0


def _below(zk: ZkClient, root: str, refused: list[ZkError]) -> Iterator[Sequence[str]]:
    """Blocks. `root` and all below it, level by level, in portions; `refused` gets what does not let us look."""
    level = [root]
    while level:
        deeper: list[str] = []
        for begin in range(0, len(level), MOST_AT_ONCE):
            paths = level[begin : begin + MOST_AT_ONCE]
            # The names first: a list may take away the right to read them.
            answers = zk.children_many(paths)
            refused += _told([names if isinstance(names, ZkError) else None for names in answers])
            for path, names in zip(paths, answers, strict=True):
                if not isinstance(names, ZkError):
                    deeper += [f"{path}/{name}" for name in names]
            yield paths
        level = deeper


def _told(answers: Sequence[ZkError | None]) -> list[ZkError]:
    """Print refusals, and return them. What is gone meanwhile needs no list."""
    refused = [answer for answer in answers if answer is not None and not isinstance(answer, NoNode)]
    for answer in refused:
        print(f"Unexpected return code: {NO_AUTH}" if isinstance(answer, NoAuth) else answer)
    return refused
