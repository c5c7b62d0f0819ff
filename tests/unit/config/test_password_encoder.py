"""Passwords in ZooKeeper: Kafka's own values are read, ours look the same, other secrets read nothing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kafka_zk.config import aes
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.password_encoder import PasswordEncoder

TREE = Path(__file__).parents[2] / "golden" / "20-zookeeper-tree" / "2-configured.json"


# FIPS 197, appendix C.
@pytest.mark.parametrize(
    ("key_bytes", "encrypted"),
    [
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_a_block_is_encrypted_as_the_standard_says(key_bytes: int, encrypted: str) -> None:
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    key = bytes(range(key_bytes))
    hidden = aes.encrypt(key, bytes(16), plain)
    assert hidden[:16].hex() == encrypted
    assert aes.decrypt(key, bytes(16), hidden) == plain


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 100])
def test_any_length_comes_back(length: int) -> None:
    plain = bytes(range(length))
    assert aes.decrypt(b"k" * 16, b"v" * 16, aes.encrypt(b"k" * 16, b"v" * 16, plain)) == plain


def test_a_password_that_apache_has_stored_is_read() -> None:
    (encoded,) = {
        word
        for word in _texts(json.loads(TREE.read_text()))
        if word.startswith(
            (
                "encryptedPassword:",
                "initializationVector:",
                "keyLength:",
                "salt:",
                "keyFactoryAlgorithm:",
                "iterations:",
                "cipherAlgorithm:",
                "passwordLength:",
            )
        )
    }
    assert PasswordEncoder("golden-encoder", os.urandom).decode(encoded)


def test_a_password_comes_back_and_its_value_differs_each_time() -> None:
    encoder = PasswordEncoder("secret", os.urandom)
    first, second = encoder.encode("pässword"), encoder.encode("pässword")
    assert first != second
    assert encoder.decode(first) == encoder.decode(second) == "pässword"
    assert "keyLength:128" in first.split(",")


def test_another_secret_reads_nothing() -> None:
    encoded = PasswordEncoder("secret", lambda count: bytes(count)).encode("password")
    with pytest.raises(ConfigException, match="Password could not be decoded"):
        PasswordEncoder("other", os.urandom).decode(encoded)


@pytest.mark.parametrize("text", ["", "password", "salt:x,iterations:y"])
def test_what_is_no_such_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigException, match="Password could not be decoded"):
        PasswordEncoder("secret", os.urandom).decode(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [("iterations", 10**20), ("iterations", 0), ("keyLength", 10**20), ("keyLength", 2**31 - 8), ("keyLength", 100)],
)
def test_a_value_with_impossible_numbers_is_refused_at_once(name: str, value: int) -> None:
    """Whoever wrote it into ZooKeeper: a broker starts without it."""
    encoder = PasswordEncoder("secret", os.urandom)
    odd = re.sub(f"{name}:[0-9]+", f"{name}:{value}", encoder.encode("password"))
    with pytest.raises(ConfigException, match=str(value)):
        encoder.decode(odd)


def test_bits_that_fill_no_byte_count_for_nothing() -> None:
    """As in Java: an Apache broker may have stored such a value."""
    encoder = PasswordEncoder("secret", os.urandom, key_length_bits=130)
    assert PasswordEncoder("secret", os.urandom).decode(encoder.encode("password")) == "password"


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, str) and value.startswith("{"):
        return _texts(json.loads(value))
    return [value] if isinstance(value, str) else []
