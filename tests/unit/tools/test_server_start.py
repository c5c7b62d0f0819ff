"""What a start of the broker imports: each module is paid for by everybody who waits for the port."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTED = """
import sys
import gevent
import kafka_zk.broker.logs.setup
import kafka_zk.broker.server
import kafka_zk.tools.server_start.__main__
from kafka_zk.api import all as all_apis
all_apis.load()
"""
"""The imports of `kafka_zk.tools.server_start` and of KafkaServer.startup."""

MODULES = "print(*sys.modules)"

UNWANTED = {
    "asyncio": "a library that knows no gevent",
    "cryptography": "stores of keys, signed tokens",
    "email": "importlib.metadata, http.client",
    "gevent.pywsgi": "the metrics' end point, when it has a port",
    "http": "gevent.pywsgi",
    "importlib.metadata": "a library that asks for its own version",
    "lz4": "the first batch of its codec",
    "prometheus_client": "the first scrape",
    "snappy": "the first batch of its codec",
    "tomllib": "the list of compiled modules, after the start",
    "zipfile": "importlib.metadata",
    "zstandard": "the first batch of its codec",
}
"""Modules that cost milliseconds, and who would bring them."""


def after_the_start(question: str) -> frozenset[str]:
    """What a fresh process prints that has imported what a start imports."""
    command = [sys.executable, "-P", "-c", STARTED + question]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def imported() -> frozenset[str]:
    return after_the_start(MODULES)


@pytest.mark.parametrize("module", UNWANTED)
def test_a_start_does_not_import(imported: frozenset[str], module: str) -> None:
    assert module not in imported, f"it comes with {UNWANTED[module]}"
