"""Stores that are read again while something else changes them, or a listener comes or goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import gevent
import pytest
from cryptography import x509
from gevent.event import Event

from kafka_zk.broker import tls
from kafka_zk.broker.tls import BrokerTls
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.network.listener_tls import ListenerTls
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.stores import load_keys
from tests.support.identities import PASSWORD, authority

LOCATION = "listener.name.secure.ssl.keystore.location"
CA = authority()


def config_of(store: Path) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "zookeeper.connect": "z:1",
            "listeners": "PLAINTEXT://127.0.0.1:0,SECURE://127.0.0.1:0",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SSL",
            "listener.name.secure.ssl.keystore.type": "PKCS12",
            "listener.name.secure.ssl.keystore.password": PASSWORD,
            LOCATION: str(store),
        }
    )


def served(listener: ListenerTls) -> x509.Certificate:
    assert listener.settings.key is not None
    return x509.load_der_x509_certificate(load_keys(listener.settings.key)[0].chain[0])


class Site:
    """The TLS of a broker whose listener has the store `old`, and another one at hand; both are of the same name."""

    def __init__(self, folder: Path) -> None:
        self.first, self.second = CA.issue("broker"), CA.issue("broker")
        self.old, self.new = self.first.key_store(folder / "old.p12"), self.second.key_store(folder / "new.p12")
        self.config = config_of(self.old)
        self.tls = BrokerTls(self.config)
        self.tls.check()

    def change(self, **dynamic: str) -> None:
        """As a notice does it: this broker has these dynamic values now."""
        before = self.config.copy()
        self.config.become(self.config.with_dynamic(default={}, broker=dynamic))
        self.tls.follow(before, self.config)

    def read_again(self) -> None:
        """As AlterConfigs does it, which changes nothing of the stores: their file was touched."""
        os.utime(self.old, ns=(1, 1))
        self.tls.reload_changed_files(self.config.copy())


class Slowly:
    """What is read in a thread comes when `go_on` is set, but only the first time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_there, self.go_on = Event(), Event()
        really = tls.in_thread

        def in_thread(work: Callable[[], object]) -> object:
            done = really(work)
            if not self.is_there.is_set():
                self.is_there.set()
                self.go_on.wait()
            return done

        monkeypatch.setattr(tls, "in_thread", in_thread)


def test_stores_that_are_read_again_do_not_undo_a_change_that_comes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, slowly = Site(tmp_path), Slowly(monkeypatch)
    again = gevent.spawn(site.read_again)
    slowly.is_there.wait()
    site.change(**{LOCATION: str(site.new)})
    slowly.go_on.set()
    again.get()
    assert served(site.tls.of("SECURE")) == site.second.certificate


def test_a_change_counts_although_stores_are_read_again_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, slowly = Site(tmp_path), Slowly(monkeypatch)
    changing = gevent.spawn(site.change, **{LOCATION: str(site.new)})
    slowly.is_there.wait()
    os.utime(site.old, ns=(1, 1))
    site.tls.reload_changed_files(site.config.copy())
    slowly.go_on.set()
    changing.get()
    assert served(site.tls.of("SECURE")) == site.second.certificate


def test_of_a_listener_that_was_removed_nobody_gets_stores(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.change(listeners="PLAINTEXT://127.0.0.1:0")
    with pytest.raises(TlsError, match="has no encrypted listener SECURE"):
        site.tls.of("SECURE")
