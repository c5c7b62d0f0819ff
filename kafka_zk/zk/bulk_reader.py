"""Reads many znodes with few requests, from servers that know how.

Role        Acts, through the requests of one session, whose `ZkClient` owns it.
Invariants  The first request of each call asks for few znodes: it tells how large they are.
            What cannot be read together is read singly: by a server before ZooKeeper 3.6, which refuses such requests
            and is not asked again; or where they are lost again and again.
            After some thousand znodes at most, others have a turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from kafka_zk.zk import kazoo_calls
from kafka_zk.zk.errors import GivenUp, Unimplemented, ZkError
from kafka_zk.zk.kazoo_calls import Request
from kafka_zk.zk.multi_read import FIRST_COUNT, Read, next_count, portions

log = logging.getLogger("kafka.zookeeper.ZooKeeperClient")

FEWEST = 2 * FIRST_COUNT
"""Fewer are not worth a request that an old server does not know."""
AT_ONCE = 2_000
"""Znodes under way at a time."""

_SINGLY: dict[Read, Callable[[str, None], Request]] = {Read.DATA: kazoo_calls.get, Read.CHILDREN: kazoo_calls.children}


class BulkReader:
    """`run` sends requests, and returns a value or a ZkError for each. All paths are below `chroot`."""

    def __init__(self, run: Callable[[Sequence[Request]], list[Any]], chroot: str) -> None:
        self._run = run
        self._chroot = chroot
        self._was_answered = False
        self._is_refused = False

    def read(self, read: Read, paths: Sequence[str]) -> list[Any]:
        """Blocks. What `read` says of each path, without a watch: a value as of a single read, or a ZkError."""
        results: list[Any] = []
        count = FIRST_COUNT
        while len(results) < len(paths):
            rest = paths[len(results) : len(results) + (AT_ONCE if results else FIRST_COUNT)]
            found = self._read(read, list(portions(rest, count, chroot=self._chroot)))
            results += found
            count = next_count(found)
        return results

    def _read(self, read: Read, asked: Sequence[Sequence[str]]) -> list[Any]:
        if self._is_refused:
            return self._read_singly(read, [path for paths in asked for path in paths])
        results: list[Any] = []
        answers = self._run([kazoo_calls.read_many(read, paths) for paths in asked])
        for paths, answer in zip(asked, answers, strict=True):
            if isinstance(answer, ZkError):
                self._note_failure(answer)
                results += self._read_singly(read, paths)
            else:
                self._was_answered = True
                results += answer
        return results

    def _read_singly(self, read: Read, paths: Sequence[str]) -> list[Any]:
        request = _SINGLY[read]
        answers = self._run([request(path, None) for path in paths])
        if read is Read.DATA:
            return answers
        return [answer if isinstance(answer, ZkError) else answer[0] for answer in answers]

    def _note_failure(self, error: ZkError) -> None:
        # A server that refuses closes the connection, and its refusal may be lost with it.
        is_refusal = isinstance(error, Unimplemented) or (isinstance(error, GivenUp) and not self._was_answered)
        if is_refusal and not self._is_refused:
            log.info("ZooKeeper does not read many znodes at once, as it does from 3.6 on: they are read one by one.")
            self._is_refused = True
