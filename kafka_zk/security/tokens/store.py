"""The delegation tokens of the cluster: in ZooKeeper, and as this broker knows them.

Role        Acts, through its session: writes tokens and their notices, follows those of others, and sweeps what is over
            while this broker is controller.
Invariants  What a client was told is in ZooKeeper and in this broker's memory; the others follow by notices. All tokens
            are read again in each new session: notices live 15 minutes only.
            A change and its notice are one transaction: no broker goes on believing in a token that was removed.
            Changes, notices and loads take turns: what was read before a change is never remembered after it.
            A renewal never brings back what was removed, here or by another broker, and the sweep removes what is over
            in ZooKeeper, not what this broker has not heard of being renewed.
            HMACs are looked up by a digest: how long a look-up takes tells nothing of them.
Differs from Kafka: it reads nothing again after a lost session, creates a token again that somebody renews on one
            broker and another one has just removed, and sweeps by what the controller knows.
Source      DelegationTokenManagerZk, DelegationTokenCache in Kafka 3.9.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection

import gevent
from gevent import get_hub
from gevent.lock import RLock

from kafka_zk.clock import Clock
from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.errors import BrokerError, DelegationTokenNotFound
from kafka_zk.sasl.scram_credentials import BY_KEY, MIN_ITERATIONS, Credential, credential_of
from kafka_zk.sasl.server.scram import TokenLogin
from kafka_zk.security.tokens.rules import TokenRules, check_may_renew, cut_short, is_over
from kafka_zk.supervision import spawn_for_life
from kafka_zk.zk.announced import change_announced
from kafka_zk.zk.errors import BadVersion, MalformedZNode, NoNode, ZkError
from kafka_zk.zk.operations import ANY_VERSION, Create, Delete, SetData
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import DelegationToken, DelegationTokenChangeZNode, DelegationTokenZNode

SALT_BYTES = 20
READ_AT_ONCE = 1_000
"""Znodes that one call reads while the tokens are loaded."""

LOOK_S = 1.0
"""How often a broker looks whether it is controller."""

_USER = "User:"

log = logging.getLogger("kafka.server.DelegationTokenManagerZk")


class TokenStore:
    """All tokens. `start` reads and follows them; `stop` ends that."""

    def __init__(self, zk: ZkClient, rules: TokenRules, clock: Clock, *, broker_id: int) -> None:
        self.rules = rules
        self._log_prefix = f"[Token Manager on Node {broker_id}]:"
        self._zk = zk
        self._clock = clock
        self._tokens: dict[str, DelegationToken] = {}
        self._ids: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}
        self._listener = SequenceListener(
            zk, DelegationTokenChangeZNode.PARENT, "token_change_", self._on_notice, clock
        )
        self._sweep: gevent.Greenlet[..., None] | None = None
        self._turn = RLock()
        """Of changes, notices and loads. Requests that only read do not take it: they must not wait for ZooKeeper."""

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self, *, sweep_interval_ms: int, is_controller: Callable[[], bool]) -> None:
        """Blocks. Returns once all tokens are known. Raises ZkError."""
        self._zk.ensure_paths([DelegationTokenChangeZNode.PARENT, DelegationTokenZNode.PARENT])
        self._listener.start(before_following=self.load)
        self._zk.on_session_expired(lambda: None, lambda _: self.load())
        self._sweep = spawn_for_life(
            "DelegationTokenSweep", lambda: self._sweep_for_ever(sweep_interval_ms, is_controller)
        )

    def stop(self) -> None:
        """Blocks."""
        self._listener.stop()
        if self._sweep is not None:
            self._sweep.kill()

    def load(self) -> None:
        """Blocks. Know exactly the tokens in ZooKeeper, but for those that may not be read. Raises ZkError."""
        with self._turn:
            ids = self._zk.children(DelegationTokenZNode.PARENT)
            log.info("%s Loading the token cache. Total token count: %d", self._log_prefix, len(ids))
            for gone in self._tokens.keys() - set(ids):
                self._forget(gone)
            for start in range(0, len(ids), READ_AT_ONCE):
                some = ids[start : start + READ_AT_ONCE]
                found = self._zk.get_many([DelegationTokenZNode.path(token_id) for token_id in some])
                for token_id, read in in_slices(list(zip(some, found, strict=True))):
                    if isinstance(read, NoNode):
                        self._forget(token_id)
                    elif isinstance(read, ZkError):
                        # Of another identity: that must stop neither a start nor what follows from a new session.
                        log.error("%s Error while getting Token for tokenId: %s: %s", self._log_prefix, token_id, read)
                    else:
                        self._remember_stored(token_id, *read)

    # --- what requests ask --------------------------------------------------------------------------------------------

    def create(
        self, owner: str, requester: str, renewers: Collection[str], max_lifetime_ms: int
    ) -> tuple[DelegationToken, bytes]:
        """Blocks. A new token and its HMAC. Raises ZkError."""
        token = self.rules.new_token(owner, requester, renewers, max_lifetime_ms, self._clock.wall_ms())
        path, data = DelegationTokenZNode.path(token.token_id), DelegationTokenZNode.encode(token)
        with self._turn:
            change_announced(self._zk, Create(path, data), _notice_of(token.token_id))
            self._remember(token)
        log.info("%s Created a delegation token: %s for owner: %s", self._log_prefix, token.token_id, owner)
        return token, self.rules.hmac_of(token.token_id)

    def renew(self, principal: str, hmac: bytes, period_ms: int) -> int:
        """Blocks. The new end of the token, epoch ms. Raises the errors of tokens, ZkError."""
        with self._turn:
            token = self._of(hmac)
            check_may_renew(token, principal)
            renewed = self.rules.renewed(token, period_ms, self._clock.wall_ms())
            self._write(renewed)
        log.info(
            "%s Delegation token renewed for token: %s for owner: %s", self._log_prefix, token.token_id, token.owner
        )
        return renewed.expiry_timestamp

    def expire(self, principal: str, hmac: bytes, period_ms: int) -> int:
        """Blocks. The new end of the token, epoch ms; a negative period removes it now, even one that is over.

        Raises the errors of tokens, ZkError.
        """
        with self._turn:
            token = self._of(hmac)
            check_may_renew(token, principal)
            now_ms = self._clock.wall_ms()
            if period_ms < 0:
                self._remove(token.token_id)
                log.info("%s Token expired for token: %s for owner: %s", self._log_prefix, token.token_id, token.owner)
                return now_ms
            shorter = cut_short(token, period_ms, now_ms)
            self._write(shorter)
        log.info("%s Updated expiry time for token: %s for owner: %s", self._log_prefix, token.token_id, token.owner)
        return shorter.expiry_timestamp

    def all(self) -> list[DelegationToken]:
        return list(self._tokens.values())

    def scram_login(self, mechanism_key: str, token_id: str) -> TokenLogin | None:
        """Blocks for the first login with a token: PBKDF2, in a thread. None for a token that is not known."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        credential = self._credentials.get((mechanism_key, token_id))
        if credential is None:
            credential = get_hub().threadpool.apply(_credential, (mechanism_key, self.rules.password_of(token_id)))
            if token_id not in self._tokens:
                return None
            self._credentials[mechanism_key, token_id] = credential
        token = self._tokens[token_id]
        return TokenLogin(credential, token.owner.removeprefix(_USER), token.expiry_timestamp)

    def _of(self, hmac: bytes) -> DelegationToken:
        token_id = self._ids.get(_digest(hmac))
        if token_id is None:
            raise DelegationTokenNotFound
        return self._tokens[token_id]

    # --- writing ------------------------------------------------------------------------------------------------------

    def _write(self, token: DelegationToken) -> None:
        """Blocks. Raises DelegationTokenNotFound for one that another broker has removed."""
        path, data = DelegationTokenZNode.path(token.token_id), DelegationTokenZNode.encode(token)
        try:
            change_announced(self._zk, SetData(path, data), _notice_of(token.token_id))
        except NoNode:
            self._forget(token.token_id)
            raise DelegationTokenNotFound from None
        self._remember(token)

    def _remove(self, token_id: str, zk_version: int = ANY_VERSION) -> None:
        """Blocks. Raises BadVersion."""
        try:
            path = DelegationTokenZNode.path(token_id)
            change_announced(self._zk, Delete(path, zk_version), _notice_of(token_id))
        except NoNode:
            # Another broker was first, and has announced it.
            log.debug("Token %s is gone already", token_id)
        self._forget(token_id)

    # --- following ----------------------------------------------------------------------------------------------------

    def _on_notice(self, data: bytes | None) -> None:
        """Blocks. Raises ZkError."""
        token_id = (data or b"").decode(errors="replace")
        log.info("%s Processing Token Notification for tokenId: %s", self._log_prefix, token_id)
        if not token_id or "/" in token_id:
            raise MalformedZNode(DelegationTokenChangeZNode.PARENT, f"no token id: {token_id!r}")
        with self._turn:
            self._read(token_id)

    def _read(self, token_id: str) -> int:
        """Blocks. Know one token as it is in ZooKeeper, and return its version; ANY_VERSION without a znode."""
        try:
            data, stat = self._zk.get(DelegationTokenZNode.path(token_id))
        except NoNode:
            self._forget(token_id)
            return ANY_VERSION
        self._remember_stored(token_id, data, stat)
        return stat.version

    def _remember_stored(self, token_id: str, data: bytes | None, stat: object) -> None:
        try:
            self._remember(DelegationTokenZNode.decode(data, token_id=token_id))
        except MalformedZNode as error:
            # Written by hand: the last good one stays.
            log.error("%s", error)

    def _remember(self, token: DelegationToken) -> None:
        self._tokens[token.token_id] = token
        self._ids[_digest(self.rules.hmac_of(token.token_id))] = token.token_id

    def _forget(self, token_id: str) -> None:
        if self._tokens.pop(token_id, None) is not None:
            del self._ids[_digest(self.rules.hmac_of(token_id))]
        for mechanism_key in BY_KEY:
            self._credentials.pop((mechanism_key, token_id), None)

    # --- the controller's sweep ---------------------------------------------------------------------------------------

    def _sweep_for_ever(self, interval_ms: int, is_controller: Callable[[], bool]) -> None:
        """At once when this broker becomes controller, then each interval."""
        next_ms = 0
        while True:
            if not is_controller():
                next_ms = 0
            elif self._clock.monotonic_ms() >= next_ms:
                next_ms = self._clock.monotonic_ms() + interval_ms
                self.sweep()
            gevent.sleep(LOOK_S)

    def sweep(self) -> None:
        """Blocks. Remove the tokens whose time is over."""
        for token_id in list(self._tokens):
            with self._turn:
                self._remove_if_over(token_id)

    def _remove_if_over(self, token_id: str) -> None:
        if not self._is_over(token_id):
            return
        try:
            # Another broker may have renewed it: this one may not have heard of that, or not yet.
            zk_version = self._read(token_id)
            if not self._is_over(token_id):
                return
            owner = self._tokens[token_id].owner
            log.info("%s Delegation token expired for token: %s for owner: %s", self._log_prefix, token_id, owner)
            self._remove(token_id, zk_version)
        except BadVersion:
            log.debug("Token %s has just been changed", token_id)
        except BrokerError as error:
            log.error("Cannot remove the expired token %s: %s", token_id, error)

    def _is_over(self, token_id: str) -> bool:
        token = self._tokens.get(token_id)
        return token is not None and is_over(token, self._clock.wall_ms())


def _notice_of(token_id: str) -> Create:
    return Create(DelegationTokenChangeZNode.PREFIX, DelegationTokenChangeZNode.encode(token_id), sequential=True)


def _digest(hmac: bytes) -> bytes:
    return hashlib.sha256(hmac).digest()


def _credential(mechanism_key: str, password: bytes) -> Credential:
    mechanism, salt = BY_KEY[mechanism_key], os.urandom(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, MIN_ITERATIONS)
    return credential_of(mechanism, salt=salt, salted_password=salted, iterations=MIN_ITERATIONS)
