"""Stores of every kind, those of keytool among them: what is read, and what is told of one that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_zk.tls.contexts import server_context
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.settings import KeySource, TlsSettings, TrustSource
from kafka_zk.tls.stores import MAX_STORE_BYTES, load_keys, load_trusted
from tests.support.identities import PASSWORD, authority, pem

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
STORE_PASSWORD, KEY_PASSWORD = "store-pass", "key-pass-2"
CA = authority()
MIDDLE = CA.issue("Middle", is_authority=True)
LEAF = MIDDLE.issue("leaf")


def key_store(path: Path, kind: str = "JKS", **more: str) -> KeySource:
    return KeySource(kind, str(path), **more)


def test_a_jks_store_may_have_another_password_for_its_keys() -> None:
    """(security 12.5)"""
    store = GOLDEN / "two-keys.jks"
    source = key_store(store, password=STORE_PASSWORD, key_password=KEY_PASSWORD)
    assert [entry.alias for entry in load_keys(source)] == ["ec", "rsa"]
    server_context(TlsSettings(key=source))
    with pytest.raises(TlsError, match=r"two-keys.jks of type JKS: Cannot recover key$"):
        load_keys(key_store(store, password=STORE_PASSWORD))
    with pytest.raises(TlsError, match=r"Keystore was tampered with, or password was incorrect$"):
        load_keys(key_store(store, password="other"))


@pytest.mark.parametrize("said", ["JKS", "PKCS12", "jks"])
@pytest.mark.parametrize("kind", ["jks", "pkcs12"])
def test_the_first_bytes_tell_jks_from_pkcs12(kind: str, said: str) -> None:
    """(security 12.5)"""
    trusted = load_trusted(TrustSource(said, str(GOLDEN / f"trust.{kind}"), STORE_PASSWORD))
    assert trusted == [(GOLDEN / "ec.der").read_bytes()]


def test_a_jceks_store_gives_its_certificates() -> None:
    assert load_trusted(TrustSource("JCEKS", str(GOLDEN / "trust.jceks"), STORE_PASSWORD))


def test_a_trust_store_of_jks_needs_no_password() -> None:
    assert load_trusted(TrustSource("JKS", str(GOLDEN / "trust.jks")))


def test_a_pkcs12_store_gives_its_key_and_chain(tmp_path: Path) -> None:
    """(security 12.5)"""
    (entry,) = load_keys(key_store(LEAF.key_store(tmp_path / "a.p12"), password=PASSWORD))
    assert (entry.alias, len(entry.chain)) == ("own", 2)
    assert entry.chain[0] == LEAF.der


def test_a_key_in_a_trust_store_does_not_make_its_issuers_trusted(tmp_path: Path) -> None:
    assert load_trusted(TrustSource("PKCS12", str(LEAF.key_store(tmp_path / "a.p12")), PASSWORD)) == [LEAF.der]


@pytest.mark.parametrize("password", [None, "key-secret"])
def test_pem_holds_key_and_chain_in_a_file_or_inline(tmp_path: Path, password: str | None) -> None:
    """(security 12.5)"""
    key, chain = LEAF.key_pem(password), LEAF.chain_pem()
    file = tmp_path / "own.pem"
    file.write_text(f"a note\n{chain}between\n{key}")
    for source in (
        key_store(file, "PEM", **({} if password is None else {"key_password": password})),
        KeySource("PEM", key_password=password, key=key, certificate_chain=chain),
    ):
        (entry,) = load_keys(source)
        assert len(entry.chain) == 2
        server_context(TlsSettings(key=source))


@pytest.mark.parametrize(("text", "why"), [
    ("", "No matching PRIVATE KEY entries in PEM file"),
    (LEAF.key_pem() * 2, "Expected one private key, but found 2"),
    (LEAF.key_pem("secret"), "Private key could not be loaded"),
    (LEAF.key_pem().replace("PRIVATE KEY", "RSA PRIVATE KEY"), "Private key could not be loaded"),
])  # fmt: skip
def test_a_pem_key_that_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    if "RSA" in text:
        # A key of the old form: its content is no PKCS#8.
        text = text.replace(LEAF.key_pem().split("\n")[1], "MIIEpAIBAAKCAQEA" + "A" * 48)
    with pytest.raises(TlsError) as refused:
        load_keys(KeySource("PEM", key=text, certificate_chain=LEAF.chain_pem()))
    assert str(refused.value) == f"Invalid PEM keystore configs: {why}"
    file = tmp_path / "own.pem"
    file.write_text(text + LEAF.chain_pem())
    with pytest.raises(TlsError) as refused:
        load_keys(key_store(file, "PEM"))
    assert str(refused.value) == f"Failed to load PEM SSL keystore {file}: {why}"


def test_a_store_is_a_regular_file_of_at_most_16_mib(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as large:
        large.truncate(MAX_STORE_BYTES + 1)
    for name in ("pipe", "large", "missing", "."):
        with pytest.raises(TlsError, match=r"^Failed to load SSL keystore "):
            load_trusted(TrustSource("JKS", str(tmp_path / name), "x"))


def test_a_cut_or_changed_store_is_refused(tmp_path: Path) -> None:
    whole = (GOLDEN / "two-keys.jks").read_bytes()
    for place, data in ((size, whole[:size]) for size in range(0, len(whole), 97)):
        file = tmp_path / f"{place}.jks"
        file.write_bytes(data)
        with pytest.raises(TlsError):
            load_keys(key_store(file, password=STORE_PASSWORD))
        # Without a password nothing but the form is checked, and no cut goes beyond the file.
        with pytest.raises(TlsError):
            load_trusted(TrustSource("JKS", str(file)))


_TRUST = pem(CA.certificate)
REFUSALS = [
    ({"keystore.key": "k"}, "SSL private key can be specified only for PEM, but key store type is JKS."),
    ({"keystore.type": "PEM", "keystore.key": "k"},
     "SSL private key is specified, but certificate chain is not specified."),
    ({"keystore.type": "PEM", "keystore.key": "k", "keystore.certificate.chain": "c", "keystore.location": "l"},
     "Both SSL key store location and separate private key are specified."),
    ({"keystore.type": "PEM", "keystore.key": "k", "keystore.certificate.chain": "c", "keystore.password": "p"},
     "SSL key store password cannot be specified with PEM format, only key password may be specified."),
    ({"keystore.certificate.chain": "c"}, "SSL certificate chain is specified, but private key is not specified"),
    ({"keystore.type": "PEM", "keystore.location": "l", "keystore.password": "p"},
     "SSL key store password cannot be specified with PEM format, only key password may be specified"),
    ({"keystore.password": "p"}, "SSL key store is not specified, but key store password is specified."),
    ({"keystore.location": "l"}, "SSL key store is specified, but key store password is not specified."),
    ({"truststore.certificates": _TRUST},
     "SSL trust store certs can be specified only for PEM, but trust store type is JKS."),
    ({"truststore.type": "PEM", "truststore.certificates": _TRUST, "truststore.location": "l"},
     "Both SSL trust store location and separate trust certificates are specified."),
    ({"truststore.type": "PEM", "truststore.certificates": _TRUST, "truststore.password": "p"},
     "SSL trust store password cannot be specified for PEM format."),
    ({"truststore.type": "PEM", "truststore.location": "l", "truststore.password": "p"},
     "SSL trust store password cannot be specified for PEM format."),
    ({"truststore.password": "p"}, "SSL trust store is not specified, but trust store password is specified."),
]  # fmt: skip


@pytest.mark.parametrize(("values", "text"), REFUSALS, ids=[text[:50] for _, text in REFUSALS])
def test_values_that_contradict_each_other_are_refused_with_kafkas_text(values: dict[str, str], text: str) -> None:
    """(security 12.4)"""
    with pytest.raises(TlsError) as refused:
        TlsSettings.of({f"ssl.{name}": value for name, value in values.items()})
    assert str(refused.value) == text


def test_no_text_of_an_error_holds_a_secret(tmp_path: Path) -> None:
    """(security 12.38)"""
    file = LEAF.key_store(tmp_path / "a.p12")
    for source in (
        key_store(file, password="the-secret"),
        KeySource("PEM", key=LEAF.key_pem(), certificate_chain="none", key_password="the-secret"),
    ):
        with pytest.raises(TlsError) as refused:
            load_keys(source)
        assert "the-secret" not in str(refused.value) + repr(source) and "PRIVATE KEY-" not in repr(source)
