"""SCRAM users, put into ZooKeeper as Apache's tools do before a broker starts."""

from __future__ import annotations

import hashlib
import json
import os

from kafka_zk.sasl.scram_credentials import Mechanism, credential_of
from kafka_zk.zk.znodes import sanitize
from tests.support.znodes import looking_at

PASSWORD = "alice-secret"


def scram_text(mechanism: Mechanism, password: str = PASSWORD, iterations: int = 4096) -> str:
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
    return credential_of(mechanism, salt=salt, salted_password=salted, iterations=iterations).text()


def put_scram_user(connect: str, user: str, *mechanisms: Mechanism, iterations: int = 4096) -> None:
    config = {each.key: scram_text(each, iterations=iterations) for each in mechanisms}
    with looking_at(connect) as client:
        path = f"/config/users/{sanitize(user)}"
        client.ensure_path(path)
        client.set(path, json.dumps({"version": 1, "config": config}).encode())


def put_scram_users(connect: str) -> None:
    put_scram_user(connect, "alice", *Mechanism)
    put_scram_user(connect, "a,b=c", *Mechanism)
    put_scram_user(connect, "only512", Mechanism.SHA_512)
    put_scram_user(connect, "few", *Mechanism, iterations=4095)
    put_scram_user(connect, "many", *Mechanism, iterations=20000)
