"""PEM text: which blocks count, and that no text takes long."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.pem import certificates, private_key


def block(name: str, text: str = "\nQUJD\n") -> str:
    return f"-----BEGIN {name}-----{text}-----END {name}-----"


@pytest.mark.parametrize(
    "text",
    [
        block("CERTIFICATE"),
        block("CERTIFICATE", " QUJD "),
        block("CERTIFICATE", "\r\n\r\nQU\r\nJD\r\n"),
        block("X509 CERTIFICATE", "\nName: value: more\n\nOther:\n\nQUJD\n"),
        f"a: b\n-- text --\n{block('CERTIFICATE')}\nmore",
        f"{block('CERTIFICATE')}\n{block('CERTIFICATE', chr(10) + 'no base 64!' + chr(10))}",
        f"{block('CERTIFICATE', 'QUJD')}\n{block('CERTIFICATE')}",
        f"{block('PRIVATE KEY')}\n{block('CERTIFICATE')}\n-----BEGIN CERTIFICATE-----\n",
    ],
)
def test_a_block_that_is_whole_counts(text: str) -> None:
    assert certificates(text) == [b"ABC"]


@pytest.mark.parametrize("between", ["\n", " ", ""])
def test_of_two_files_put_together_both_count(between: str) -> None:
    text = f"{block('CERTIFICATE')}{between}{block('CERTIFICATE', chr(10) + 'REVG' + chr(10))}"
    assert certificates(text) == [b"ABC", b"DEF"]


def test_a_key_is_found_among_others() -> None:
    text = f"{block('CERTIFICATE')}\n{block('ENCRYPTED PRIVATE KEY')}\n{block('PUBLIC KEY')}"
    assert private_key(text) == b"ABC"
    with pytest.raises(TlsError, match="Expected one private key, but found 2"):
        private_key(f"{text}\n{block('PRIVATE KEY')}")


@pytest.mark.parametrize("unit", ["\n", "a:b:c:d:e\n", "A", "-", "-BEGIN", "-----BEGIN CERTIFICATE-----\n", " \n", ":"])
def test_no_text_takes_long(unit: str) -> None:
    """Kafka's pattern takes hours for some; here nobody would be served meanwhile."""
    text = "-----BEGIN CERTIFICATE-----\n" + unit * (200_000 // len(unit))
    began_s = time.thread_time()
    with suppress(TlsError):
        certificates(text)
    assert time.thread_time() - began_s < 1
