"""Contexts: who is believed, and what is offered."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kafka_zk.tls.contexts import client_context, server_context
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.settings import TlsSettings
from tests.support.identities import PASSWORD, Identity, authority, pem, pem_settings

CA = authority()
BROKER = CA.issue("broker")
CLIENT = CA.issue("client")


def shaken(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost"
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both ends after a handshake in memory. Raises SSLError, of whichever end refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    # The client's verdict on TLS 1.3 comes before the server's on the client's certificate.
    for end in ends:
        with pytest.raises(ssl.SSLWantReadError):
            end.read(1)
    return ends[1], ends[0]


def server_of(own: Identity | None = BROKER, trusted: Identity | None = CA, **more: object) -> ssl.SSLContext:
    return server_context(TlsSettings.of(pem_settings(own, trusted) | _keys(more)))


def client_of(own: Identity | None = None, trusted: Identity | None = CA, **more: object) -> ssl.SSLContext:
    return client_context(TlsSettings.of(pem_settings(own, trusted) | _keys(more)))


def _keys(more: dict[str, object]) -> dict[str, object]:
    return {f"ssl.{key.replace('_', '.')}": value for key, value in more.items()}


def test_a_client_believes_a_server_that_its_authority_signed() -> None:
    server, client = shaken(server_of(), client_of())
    assert client.version() == "TLSv1.3"
    assert server.getpeercert(binary_form=True) is None


def test_a_client_refuses_a_server_of_another_authority() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed certificate in certificate chain"):
        shaken(server_of(), client_of(trusted=authority("Other")))


def test_a_client_refuses_a_server_with_another_name_unless_it_does_not_look() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shaken(server_of(), client_of(), "elsewhere")
    shaken(server_of(), client_of(endpoint_identification_algorithm=""), "elsewhere")
    shaken(server_of(), client_of(), "127.0.0.1")


@pytest.mark.parametrize(("auth", "sends", "refused"), [
    ("none", False, False), ("none", True, False), ("requested", False, False), ("requested", True, False),
    ("required", False, True), ("required", True, False),
])  # fmt: skip
def test_client_auth_decides_who_must_show_a_certificate(auth: str, sends: bool, refused: bool) -> None:
    server, client = server_of(client_auth=auth), client_of(CLIENT if sends else None)
    if refused:
        with pytest.raises(ssl.SSLError, match="peer did not return a certificate"):
            shaken(server, client)
        return
    seen = shaken(server, client)[0].getpeercert(binary_form=True)
    assert seen == (CLIENT.der if sends and auth != "none" else None)


def test_a_bad_certificate_is_refused_even_where_none_is_required() -> None:
    stranger = authority("Stranger").issue("client")
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(server_of(client_auth="requested"), client_of(stranger))


def test_any_certificate_of_the_trust_store_is_an_anchor() -> None:
    """An intermediate, or the very certificate of the peer. (security 12.6)"""
    middle = CA.issue("Middle", is_authority=True)
    leaf = middle.issue("broker")
    shaken(server_of(leaf), client_of(trusted=middle))
    shaken(server_of(leaf), client_of(trusted=leaf))
    shaken(server_of(leaf), client_of(trusted=CA))
    # A server that does not send the intermediate: only who has it believes.
    alone = Identity(leaf.key, leaf.certificate)
    shaken(server_of(alone), client_of(trusted=middle))
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(server_of(alone), client_of(trusted=CA))


def test_a_server_without_a_key_store_fails_each_handshake() -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)no shared cipher|no suitable signature"):
        shaken(server_of(own=None), client_of())


def test_an_expired_certificate_is_refused() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shaken(server_of(CA.issue("broker", days=-1)), client_of())


def test_protocols_are_those_of_the_settings() -> None:
    assert shaken(server_of(enabled_protocols="TLSv1.2"), client_of())[0].version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        shaken(server_of(enabled_protocols="TLSv1.2"), client_of(enabled_protocols=["TLSv1.3"]))
    with pytest.raises(TlsError, match="Unsupported protocol: TLSv9"):
        server_of(enabled_protocols="TLSv9")


def test_cipher_suites_have_the_names_of_iana() -> None:
    name = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    server, _ = shaken(server_of(cipher_suites=name), client_of())
    assert server.cipher() == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128)
    assert shaken(server_of(cipher_suites="TLS_AES_128_GCM_SHA256"), client_of())[0].version() == "TLSv1.3"
    with pytest.raises(TlsError, match="Unsupported CipherSuite: TLS_NULL"):
        server_of(cipher_suites=["TLS_NULL"])


def test_a_context_needs_no_file_once_it_is_made(tmp_path: Path) -> None:
    values = {
        "ssl.keystore.location": str(BROKER.key_store(tmp_path / "key.p12")),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": pem(CA.certificate),
    }
    context = server_context(TlsSettings.of(values))
    (tmp_path / "key.p12").unlink()
    shaken(context, client_of())


def test_settings_show_no_secret() -> None:
    shown = repr(TlsSettings.of(pem_settings(BROKER, CA) | {"ssl.key.password": "hidden"}))
    assert "PRIVATE" not in shown and "hidden" not in shown


@pytest.mark.parametrize("client_auth", ["required", "requested"])
def test_a_server_names_the_authorities_whose_certificates_it_takes(client_auth: str) -> None:
    """As Java does. Clients with several keys choose by these names; librdkafka shows none of another authority."""
    other = authority("Another")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_of(enabled_protocols="TLSv1.2").wrap_bio(to_client, to_server, server_hostname="localhost")
    server = server_of(trusted=other, client_auth=client_auth).wrap_bio(to_server, to_client, server_side=True)
    for end in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            end.do_handshake()
    assert other.certificate.subject.public_bytes() in to_client.read(), "not encrypted in TLS 1.2"
