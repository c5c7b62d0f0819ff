"""Encrypts passwords in /config/brokers/<id> with password.encoder.secret.

Role        Pure; chance comes from the caller.
Invariants  A value names everything that is needed to read it but the secret, so values of other settings can be read.
Source      EncryptingPasswordEncoder, CbcParamsEncoder; KIP-226.

Example     initializationVector:<base64>,keyLength:128,salt:<base64>,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,
            cipherAlgorithm:AES/CBC/PKCS5Padding,iterations:4096,passwordLength:6,encryptedPassword:<base64>
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_zk.config import aes
from kafka_zk.config.errors import ConfigException

if TYPE_CHECKING:
    from kafka_zk.config.broker import BrokerConfig

CIPHER = "AES/CBC/PKCS5Padding"
DEFAULT_KEY_FACTORY = "PBKDF2WithHmacSHA512"
SALT_BYTES = 256
KEY_LENGTHS_BYTES = (16, 24, 32)
MOST_ITERATIONS = 2**31 - 1
_KEY_FACTORY = re.compile(r"PBKDF2WithHmac(SHA(?:1|224|256|384|512))")


class PasswordEncoder:
    """Encodes with the settings given, decodes what any settings made. `random_bytes(count)` gives salts."""

    def __init__(
        self,
        secret: str,
        random_bytes: Callable[[int], bytes],
        *,
        key_factory: str | None = None,
        cipher: str = CIPHER,
        key_length_bits: int = 128,
        iterations: int = 4096,
    ) -> None:
        self._secret = secret.encode()
        self._random_bytes = random_bytes
        self._key_factory = key_factory or DEFAULT_KEY_FACTORY
        self._cipher = cipher
        self._key_length_bits = key_length_bits
        self._iterations = iterations

    @classmethod
    def of(cls, config: BrokerConfig, random_bytes: Callable[[int], bytes]) -> PasswordEncoder | None:
        """The encoder of a broker; None while it has no password.encoder.secret."""
        secret = config.password_encoder_secret
        if secret is None:
            return None
        return cls(
            secret,
            random_bytes,
            key_factory=config.password_encoder_keyfactory_algorithm,
            cipher=config.password_encoder_cipher_algorithm,
            key_length_bits=config.password_encoder_key_length,
            iterations=config.password_encoder_iterations,
        )

    def encode(self, password: str) -> str:
        """Raises ConfigException for a cipher or a key factory that is not known here."""
        salt, vector = self._random_bytes(SALT_BYTES), self._random_bytes(aes.BLOCK_BYTES)
        key = self._key(self._key_factory, self._cipher, salt, self._iterations, self._key_length_bits)
        plain = password.encode()
        fields = {
            "initializationVector": _base64(vector),
            "keyLength": self._key_length_bits,
            "salt": _base64(salt),
            "keyFactoryAlgorithm": self._key_factory,
            "cipherAlgorithm": self._cipher,
            "iterations": self._iterations,
            "passwordLength": len(password),
            "encryptedPassword": _base64(aes.encrypt(key, vector, plain)),
        }
        return ",".join(f"{name}:{value}" for name, value in fields.items())

    def decode(self, encoded: str) -> str:
        """Raises ConfigException for what is no such value, or was made with another secret."""
        fields = dict(part.partition(":")[::2] for part in encoded.split(","))
        try:
            key = self._key(
                fields["keyFactoryAlgorithm"],
                fields["cipherAlgorithm"],
                base64.b64decode(fields["salt"], validate=True),
                int(fields["iterations"]),
                int(fields["keyLength"]),
            )
            vector = base64.b64decode(fields["initializationVector"], validate=True)
            hidden = base64.b64decode(fields["encryptedPassword"], validate=True)
            password = aes.decrypt(key, vector, hidden).decode()
            is_whole = len(password) == int(fields["passwordLength"])
        except (KeyError, ValueError) as error:
            raise ConfigException("Password could not be decoded") from error
        if not is_whole:
            # Another secret whose padding looks right by chance.
            raise ConfigException("Password could not be decoded, sanity check of length failed")
        return password

    def _key(self, key_factory: str, cipher: str, salt: bytes, iterations: int, key_length_bits: int) -> bytes:
        match = _KEY_FACTORY.fullmatch(key_factory)
        if match is None:
            raise ConfigException(f"{key_factory} SecretKeyFactory not available")
        if cipher != CIPHER:
            raise ConfigException(f"The cipher {cipher} is not supported, {CIPHER} is")
        # As in Java, which derives whole bytes: a keyLength of 130 is as good as one of 128.
        if key_length_bits // 8 not in KEY_LENGTHS_BYTES:
            # A far longer one would take minutes, and all memory, before the cipher refused it.
            raise ConfigException(f"A key of {key_length_bits} bits is none of {CIPHER}")
        if not 0 < iterations <= MOST_ITERATIONS:
            raise ConfigException(f"{iterations} iterations are not possible")
        return hashlib.pbkdf2_hmac(match[1].lower(), self._secret, salt, iterations, key_length_bits // 8)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
