"""Addresses as Java prints them."""

from __future__ import annotations

import pytest

from kafka_zk.network.addresses import as_java_prints


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8::1:0", "2001:db8:0:0:0:0:1:0"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_an_address_has_all_its_groups(address: str, printed: str) -> None:
    """(security 12.29) What hosts of ACLs are compared with."""
    assert as_java_prints(address) == printed
