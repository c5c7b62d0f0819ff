"""What a broker says to stores that may not replace those of an open listener: ours and Apache's, word for word."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.tls.test_reload import Served
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.certificates import LOOPBACK, PASSWORD
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot


def refusals_of(served: Served) -> dict[str, str]:
    """By what was tried; folders are left out."""
    issue = served.issue
    trust = served.authority.issue("x", served.folder / "x").truststore_p12
    tried: dict[str, dict[str, str]] = {
        "another name": {"ssl_keystore_location": str(issue("name", "else"))},
        "fewer hosts": {"ssl_keystore_location": str(issue("fewer", sans=("localhost",)))},
        "another password": {"ssl_keystore_password": "wrong"},
        "no file": {"ssl_keystore_location": str(served.folder / "missing")},
        "a trust store": {"ssl_truststore_location": str(trust), "ssl_truststore_password": PASSWORD},
        "PEM with a password": {"ssl_keystore_type": "PEM"},
        "a key that is no PEM": {"ssl_keystore_key": "x", "ssl_keystore_certificate_chain": "y"},
        "an unknown type": {"ssl_keystore_type": "XYZ"},
    }
    texts = {what: served.refusal_of(**values) for what, values in tried.items()}
    served.alter(ssl_keystore_location=str(issue("more", sans=(*LOOPBACK, "kafka.example.com"))))
    return {what: _sorted_names(text.replace(str(served.folder), "FOLDER")) for what, text in texts.items()}


def _sorted_names(text: str) -> str:
    """Java prints the alternative names in the order of a hash set."""

    def in_order(found: re.Match[str]) -> str:
        return "SAN=[" + ", ".join(sorted(re.findall(r"\[\d+, [^]]*\]", found[1]))) + "]"

    return re.sub(r"SAN=\[((?:\[\d+, [^]]*\](?:, )?)*)\]", in_order, text)


def test_refusals_are_apaches(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    """(security 12.10)"""
    texts = {}
    for kind in (ApacheBroker, OurBroker):
        folder = tmp_path / kind.__name__
        folder.mkdir()
        served = Served(folder, fresh_chroot(zookeeper, f"reload-{kind.__name__}"), kind)
        try:
            texts[kind] = refusals_of(served)
        finally:
            served.broker.stop()
    assert texts[OurBroker] == texts[ApacheBroker]
