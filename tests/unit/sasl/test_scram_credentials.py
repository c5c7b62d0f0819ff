"""Credentials as ZooKeeper keeps them."""

from __future__ import annotations

import hashlib

import pytest

from kafka_zk.sasl.scram_credentials import BY_CODE, Mechanism, credential_of, iterations_of


def test_a_credential_is_that_of_the_standard() -> None:
    """RFC 7677: password "pencil"; the server's keys as they follow from its example."""
    salt = b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81"
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    credential = credential_of(BY_CODE[1], salt=salt, salted_password=salted, iterations=4096)
    assert credential.text() == (
        "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
        "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
    )
    assert iterations_of(credential.text()) == 4096


def test_what_is_no_credential_is_told_so() -> None:
    with pytest.raises(ValueError, match="not valid") as refusal:
        iterations_of("salt=x,server_key=secret,iterations=4096")
    assert "secret" not in str(refusal.value), "it is logged"
    with pytest.raises(ValueError, match="Empty key"):
        credential_of(Mechanism.SHA_512, salt=b"", salted_password=b"", iterations=4096)
