"""The stubs beside the message modules."""

from __future__ import annotations

import importlib
import re

from kafka_zk.protocol import stubs


def test_no_stub_is_stale():
    stale = [path.name for path, text in stubs.stubs().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `python -m kafka_zk.protocol.stubs`"


def test_every_class_of_a_stub_exists_at_run_time():
    for path, text in stubs.stubs().items():
        package = "kafka_zk.protocol" if path.stem == "errors" else "kafka_zk.protocol.messages"
        module = importlib.import_module(f"{package}.{path.stem}")
        for name in re.findall(r"^(?:class )?(\w+)[(:]", text, re.MULTILINE):
            assert hasattr(module, name), f"{path.stem}.{name}"
