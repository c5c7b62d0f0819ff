"""Faults in how many znodes are read with few requests."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a request that an old server refuses has the connection to itself",
        file="kafka_zk/zk/sending.py",
        old="lost[index] >= LOST_TOGETHER or self._is_unknown_yet(requests[index])",
        new="lost[index] >= LOST_TOGETHER",
        tests="tests/unit/zk/test_bulk_reader.py -k to_itself",
    ),
    Mutant(
        breaks="a new connection may lead to an older server",
        file="kafka_zk/zk/sending.py",
        old="request.may_be_unknown and self._known_over != self._life.connection",
        new="request.may_be_unknown and not self._known_over",
        tests="tests/unit/zk/test_bulk_reader.py -k to_itself",
    ),
    Mutant(
        breaks="a server that refuses to read many znodes at once is not asked again",
        file="kafka_zk/zk/bulk_reader.py",
        old="            self._is_refused = True\n",
        new="",
        tests="tests/unit/zk/test_bulk_reader.py -k asked_once",
    ),
    Mutant(
        breaks="a read of many znodes that is lost again and again is given up",
        file="kafka_zk/zk/sending.py",
        old=" or request.may_be_unknown\n",
        new="\n",
        tests="tests/unit/zk/test_bulk_reader.py -k given_up",
    ),
    Mutant(
        breaks="a server that has read many znodes at once is asked so again, whatever was lost",
        file="kafka_zk/zk/bulk_reader.py",
        old=" and not self._was_answered)",
        new=")",
        tests="tests/unit/zk/test_bulk_reader.py -k known_server",
    ),
    Mutant(
        breaks="what is watched is read in a way that sets the watch",
        file="kafka_zk/zk/session.py",
        old="all(self._watches.find(path, side) is None for path in in_slices(paths))",
        new="self._watches.find(paths[0], side) is None",
        tests="tests/unit/zk/test_bulk_reader.py -k watched",
    ),
    Mutant(
        breaks="the first of many reads asks for few znodes: nobody knows how large they are",
        file="kafka_zk/zk/bulk_reader.py",
        old="(AT_ONCE if results else FIRST_COUNT)",
        new="AT_ONCE",
        tests="tests/unit/zk/test_bulk_reader.py -k first_is_small",
    ),
    Mutant(
        breaks="large znodes are asked for few at a time",
        file="kafka_zk/zk/bulk_reader.py",
        old="            count = next_count(found)\n",
        new="            count = 256\n",
        tests="tests/unit/zk/test_bulk_reader.py -k few_at_a_time",
    ),
    Mutant(
        breaks="znodes that cannot be read count, too, when the next request is sized",
        file="kafka_zk/zk/multi_read.py",
        old="    size_bytes = len(results) * _AROUND_DATA_BYTES\n",
        new="    size_bytes = 0\n",
        tests="tests/unit/zk/test_multi_read.py -k next_request",
    ),
    Mutant(
        breaks="a request for many znodes is small enough for every ensemble",
        file="kafka_zk/zk/multi_read.py",
        old=" or size_bytes + path_bytes > REQUEST_BYTES",
        new="",
        tests="tests/unit/zk/test_multi_read.py -k so_many_bytes",
    ),
    Mutant(
        breaks="the chroot counts where a request is kept small",
        file="kafka_zk/zk/multi_read.py",
        old="_AROUND_PATH_BYTES + len(chroot) + len",
        new="_AROUND_PATH_BYTES + len",
        tests="tests/unit/zk/test_multi_read.py -k so_many_bytes",
    ),
    Mutant(
        breaks="no data is not empty data, in a response for many znodes",
        file="kafka_zk/zk/multi_read.py",
        old="    data = None\n",
        new='    data = b""\n',
        tests="tests/unit/zk/test_multi_read.py -k bytes_are_those",
    ),
    Mutant(
        breaks="bytes behind a response for many znodes are told",
        file="kafka_zk/zk/multi_read.py",
        old="    if offset != len(response):\n",
        new="    if offset > len(response):\n",
        tests="tests/unit/zk/test_multi_read.py -k early_or_late",
    ),
    Mutant(
        breaks="of many znodes each that cannot be read has its own error",
        file="kafka_zk/zk/kazoo_calls.py",
        old="[_read_result(result, path) for result, path in zip(results, paths, strict=True)]",
        new="[_read_result(result, paths[0]) for result, path in zip(results, paths, strict=True)]",
        tests="tests/unit/zk/test_bulk_reader.py -k own_error",
    ),
    Mutant(
        breaks="others have turns while a long list of children is decoded",
        file="kafka_zk/zk/kazoo_calls.py",
        old="names_and_stat(response, in_slices)",
        new="names_and_stat(response)",
        tests="tests/unit/zk/test_bulk_reader.py -k names_are_decoded",
    ),
)
