"""Faults in the jobs of the pipeline: what they leave, go on with, and refuse."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a copy whose last records may be compacted away is refused",
        file="kafka_zk/client/range_writing/arrivals.py",
        old="        if missing is None and header.base_offset > position:\n",
        new="        if missing is None and header.base_offset < position:\n",
        tests="tests/unit/spark/test_ordered_copy.py -k newer_values",
    ),
    Mutant(
        breaks="who asks what stands in a log hears of control batches too",
        file="kafka_zk/client/range_reading/visible_batches.py",
        old="        if header.last_offset >= position:\n",
        new="        if header.last_offset >= position and not header.is_control:\n",
        tests="tests/unit/client/range_reading/test_visible_batches.py -k headers",
    ),
)
