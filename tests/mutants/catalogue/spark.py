"""Faults in the data pipeline."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a reader of ranges goes on behind batches that have no rows",
        file="kafka_zk/client/range_reading/visible_batches.py",
        old="        next_offset = max(next_offset, header.next_offset)\n",
        new="        next_offset = next_offset if header.is_control else max(next_offset, header.next_offset)\n",
        tests="tests/unit/client/range_reading/test_visible_batches.py",
    ),
    Mutant(
        breaks="of a segment nothing is read behind a wrong checksum",
        file="kafka_zk/spark/sources/log/segments.py",
        old='                    damage = "a checksum is wrong"\n                    break\n',
        new="                    pass\n",
        tests="tests/unit/spark/sources/test_log_reader.py -k damage",
    ),
    Mutant(
        breaks="a stream's limit leaves no partition behind",
        file="kafka_zk/spark/sources/ranges.py",
        old="        taken = int(share) if share >= 1 else 1\n",
        new="        taken = int(share)\n",
        tests="tests/unit/spark/sources/test_ranges.py -k limit",
    ),
)
