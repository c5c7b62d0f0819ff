"""SCRAM-SHA-256=[iterations=8192,password=secret]: what a command line says of a credential, and its form in ZooKeeper.

Role        Pure; salt comes from the caller.
Source      ConfigCommand.iterationsAndPasswordBytes; ScramFormatter, ScramCredentialUtils; RFC 5802.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from kafka_zk.client.admin.scram import ScramMechanism, ScramUpsertion
from kafka_zk.tools.common.java_output import illegal_argument

MECHANISMS = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
DEFAULT_ITERATIONS = LEAST_ITERATIONS = 4096
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


def iterations_and_password(name: str, text: str) -> tuple[int, str]:
    """As --bootstrap-server reads them: -1 is the default. Raises JavaError (IllegalArgumentException)."""
    return _read(name, text, shown=name)


def iterations_and_password_for_zookeeper(name: str, text: str) -> tuple[int, str]:
    """As --zookeeper reads them: a number is a number. Raises JavaError (IllegalArgumentException)."""
    if text.startswith("iterations=-"):
        raise illegal_argument(f"Invalid credential property {MECHANISMS[name].name}={text}")
    return _read(name, text, shown=MECHANISMS[name].name)


def _read(name: str, text: str, *, shown: str) -> tuple[int, str]:
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        raise illegal_argument(f"Invalid credential property {MECHANISMS[name].name}={text}")
    given = match[1]
    if given in ("", "-"):
        raise illegal_argument(f'For input string: "{given}"')
    iterations = DEFAULT_ITERATIONS if given in (None, "-1") else int(given)
    if iterations < LEAST_ITERATIONS:
        raise illegal_argument(
            f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {shown}"
        )
    return iterations, match[2]


def stored_credential(mechanism: ScramMechanism, password: str, iterations: int) -> str:
    """What /config/users/U stores for a password."""
    upsertion = ScramUpsertion("", mechanism, password.encode(), iterations)
    salted = upsertion.salted_password()

    def keyed(text: bytes) -> bytes:
        return hmac.digest(salted, text, mechanism.hash_name)

    stored_key = hashlib.new(mechanism.hash_name, keyed(b"Client Key")).digest()
    fields = {"salt": upsertion.salt, "stored_key": stored_key, "server_key": keyed(b"Server Key")}
    shown = ",".join(f"{name}={base64.b64encode(value).decode()}" for name, value in fields.items())
    return f"{shown},iterations={iterations}"
