"""What the name of an ip quota stands for. Nobody is asked: these need no name server."""

from __future__ import annotations

import pytest

from kafka_zk.security.quotas.addresses import address_of


@pytest.mark.parametrize("name", ["10.0.0.1", "0:0:0:0:0:0:0:1"])
def test_an_address_is_itself(name: str) -> None:
    assert address_of(name) == name


def test_an_address_has_one_form() -> None:
    assert address_of("::1") == "0:0:0:0:0:0:0:1"
    assert address_of("::ffff:10.0.0.1") == "10.0.0.1"


def test_what_cannot_be_a_host_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    assert address_of("x" * 64) is None
    assert capfd.readouterr().err == ""
