"""What a batch costs: `python bench/record.py`. Needs the compiled walker.

Prints the best of several runs in microseconds for one record of 100 bytes and for 100 of them, per codec: validated
with its offsets assigned (as a leader does), decoded, built. Then the two walkers, per record.
Floor: one plain record validated and given its offsets in 2 us.
"""

from __future__ import annotations

import functools
import sys
import timeit
from collections.abc import Callable
from typing import Any

from bench.process import run_bench
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import WALKER, Batch, Codec, Record, batches, build_batch, decode_records, walker
from kafka_zk.record.validation import ValidationRules, validate
from kafka_zk.record.walking import assign_offsets, columns, decode, encode, walk

FLOOR_US = 2.0
RULES = ValidationRules(TopicPartition("bench", 0))


def best_us(work: Callable[[], Any], number: int) -> float:
    return min(timeit.repeat(work, number=number, repeat=9)) / number * 1e6


def records_of(count: int) -> list[Record]:
    return [Record(index, 1_700_000_000_000 + index, b"key-%06d" % index, b"v" * 90) for index in range(count)]


def accepted(data: memoryview) -> float:
    """Validated and given its offsets. The buffer is used again: offsets go back to what a client sends."""

    def append() -> None:
        validate(data, RULES, 0)
        assign_offsets(data, 0, 1)

    return best_us(append, 20_000 if len(data) < 1000 else 5_000)


def print_batches() -> float:
    print(f"{'us a batch':24s}{'bytes':>8s}{'validate+assign':>18s}{'decode':>10s}{'build':>10s}")
    floor = 0.0
    for count in (1, 100):
        for codec in Codec:
            records = records_of(count)
            data = memoryview(build_batch(records, codec=codec))
            (batch,) = batches(data)
            cost = accepted(data)
            floor = floor or cost
            decoded = best_us(functools.partial(decode_records, batch), 2_000)
            built = best_us(functools.partial(build_batch, records, codec=codec), 500)
            label = f"{count} x {codec.name.lower()}"
            print(f"{label:24s}{len(data):8d}{cost:18.2f}{decoded:10.2f}{built:10.2f}")
    return floor


def print_walkers() -> None:
    count = 1000
    batch: Batch = next(batches(build_batch(records_of(count))))
    payload, end = bytes(batch.payload), len(batch.payload)
    records, base = decode_records(batch), batch.header.base_timestamp
    print(f"{'ns a record':24s}{WALKER:>12s}{'pure':>12s}")
    rows: tuple[tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]], ...] = (
        ("walk", walk, walker.walk, (payload, 0, end, count, base)),
        ("columns", columns, walker.columns, (payload, 0, end, count, base)),
        ("decode", decode, walker.decode, (payload, 0, end, count, base, 0)),
        ("encode", encode, walker.encode, (records, 0, base)),
    )
    for name, fast, slow, arguments in rows:
        figures = [best_us(functools.partial(call, *arguments), 20) / count * 1000 for call in (fast, slow)]
        print(f"{name:24s}{figures[0]:12.1f}{figures[1]:12.1f}")


def main() -> int:
    if WALKER != "compiled":
        print("the compiled walker is missing: python setup.py build_ext --inplace", file=sys.stderr)
        return 1
    floor = print_batches()
    print_walkers()
    held = floor <= FLOOR_US
    print(f"floor of {FLOOR_US} us held" if held else "A FLOOR IS BROKEN")
    return 0 if held else 1


if __name__ == "__main__":
    run_bench(main)
