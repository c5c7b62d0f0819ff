"""The delegation tokens of the cluster: in ZooKeeper, and as this broker knows them.

Role        Acts, through its session: writes tokens and their notices, follows those of others, and sweeps what is over
            while this broker is controller.
Invariants  What a client was told is in ZooKeeper and in this broker's memory; the others follow by notices. All tokens
            are read again in each new session: notices live 15 minutes only.
            Of two changes by this broker's clients the second sees what the first has done: a renewal never brings
            back what was just removed.
            HMACs are looked up by a digest: how long a look-up takes tells nothing of them.
Differs from Kafka: it reads nothing again after a lost session.
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
from kafka_zk.protocol.errors import BrokerError, DelegationTokenNotFound
from kafka_zk.sasl.scram_credentials import BY_KEY, MIN_ITERATIONS, Credential, credential_of
from kafka_zk.sasl.server.scram import TokenLogin
from kafka_zk.security.tokens.rules import TokenRules, check_may_renew, cut_short, is_over
from kafka_zk.supervision import spawn_for_life
from kafka_zk.zk.errors import MalformedZNode, NoNode, ZkError
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import DelegationToken, DelegationTokenChangeZNode, DelegationTokenZNode

SALT_BYTES = 20
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
        """Of changes. Reading does not take it: it must go on while a change waits for ZooKeeper."""

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
        """Blocks. Know exactly the tokens in ZooKeeper. Raises ZkError."""
        ids = self._zk.children(DelegationTokenZNode.PARENT)
        found = self._zk.get_many([DelegationTokenZNode.path(token_id) for token_id in ids])
        log.info("%s Loading the token cache. Total token count: %d", self._log_prefix, len(ids))
        for gone in self._tokens.keys() - set(ids):
            self._forget(gone)
        for token_id, read in zip(ids, found, strict=True):
            if isinstance(read, NoNode):
                self._forget(token_id)
            elif isinstance(read, ZkError):
                raise read
            else:
                self._remember_stored(token_id, *read)

    # --- what requests ask --------------------------------------------------------------------------------------------

    def create(
        self, owner: str, requester: str, renewers: Collection[str], max_lifetime_ms: int
    ) -> tuple[DelegationToken, bytes]:
        """Blocks. A new token and its HMAC. Raises ZkError."""
        token = self.rules.new_token(owner, requester, renewers, max_lifetime_ms, self._clock.wall_ms())
        self._write(token)
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
        path, data = DelegationTokenZNode.path(token.token_id), DelegationTokenZNode.encode(token)
        try:
            self._zk.set(path, data)
        except NoNode:
            self._zk.create(path, data, make_parents=True)
        self._remember(token)
        self._announce(token.token_id)

    def _remove(self, token_id: str) -> None:
        try:
            self._zk.delete(DelegationTokenZNode.path(token_id))
        except NoNode:
            # Another broker was first.
            log.debug("Token %s is gone already", token_id)
        self._forget(token_id)
        self._announce(token_id)

    def _announce(self, token_id: str) -> None:
        self._zk.create(DelegationTokenChangeZNode.PREFIX, token_id.encode(), sequential=True, make_parents=True)

    # --- following ----------------------------------------------------------------------------------------------------

    def _on_notice(self, data: bytes | None) -> None:
        """Blocks. Raises ZkError."""
        token_id = (data or b"").decode(errors="replace")
        log.info("%s Processing Token Notification for tokenId: %s", self._log_prefix, token_id)
        if not token_id or "/" in token_id:
            raise MalformedZNode(DelegationTokenChangeZNode.PARENT, f"no token id: {token_id!r}")
        try:
            read = self._zk.get(DelegationTokenZNode.path(token_id))
        except NoNode:
            self._forget(token_id)
            return
        self._remember_stored(token_id, *read)

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
        token = self._tokens.get(token_id)
        if token is None or not is_over(token, self._clock.wall_ms()):
            return
        log.info("%s Delegation token expired for token: %s for owner: %s", self._log_prefix, token_id, token.owner)
        try:
            self._remove(token_id)
        except BrokerError as error:
            log.error("Cannot remove the expired token %s: %s", token_id, error)


def _digest(hmac: bytes) -> bytes:
    return hashlib.sha256(hmac).digest()


def _credential(mechanism_key: str, password: bytes) -> Credential:
    mechanism, salt = BY_KEY[mechanism_key], os.urandom(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, MIN_ITERATIONS)
    return credential_of(mechanism, salt=salt, salted_password=salted, iterations=MIN_ITERATIONS)
