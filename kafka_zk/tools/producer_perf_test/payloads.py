"""Payloads of the performance test: random, or from a file.

Role        Reads the file it is given; randomness comes from a seed.
Invariants  Letters are cut from a pool of random ones at random places: generating each would take longer than
            the rest of the run. The pool is larger than a batch, so letters compress no better for it.
Source      ProducerPerformance.readPayloadFile, generateRandomPayload.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from kafka_zk.tools.common.java_files import read_all_bytes
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.common.java_text import string
from kafka_zk.tools.common.java_values import drop_empty_tail

LETTERS = bytes(65 + value % 26 for value in range(256))
POOL_BYTES = 1024 * 1024
_SEED = 0

Payload = Callable[[int], bytes]
"""From the number of a record to its value."""


def monotonic() -> Payload:
    return lambda number: str(number).encode()


def random_letters(size_bytes: int) -> Payload:
    """Raises JavaError for a negative size."""
    if size_bytes < 0:
        raise JavaError(str(size_bytes), "java.lang.NegativeArraySizeException")
    chance = random.Random(_SEED)
    pool = chance.randbytes(POOL_BYTES + size_bytes).translate(LETTERS)
    place = chance.random

    def payload(_: int) -> bytes:
        start = int(place() * POOL_BYTES)
        return pool[start : start + size_bytes]

    return payload


def of_file(path: str, delimiter: str) -> Payload:
    """Any of the texts in a file. Raises JavaError for one that is missing or empty, or cannot be read."""
    print(f"Reading payloads from: {Path(path).absolute()}")
    file = Path(path)
    if not file.exists() or not file.stat().st_size:
        raise illegal_argument("File does not exist or empty file provided.")
    text: str = string(read_all_bytes(path))
    parts = drop_empty_tail(text.split(delimiter)) if delimiter else list(text)
    print(f"Number of messages read: {len(parts)}")
    found = [part.encode() for part in parts]
    chance = random.Random(_SEED)
    return lambda _: chance.choice(found)
