"""KerberosLogin: a program's Kerberos identity, renewed before its ticket ends.

Role        Acts: asks the KDC, and starts a thread for each renewal. No part of it needs an event loop.
Invariants  Contexts are made with the ticket there is, also while the next one is fetched.
Source      KerberosLogin in Kafka 3.9.
Differs     A renewal that failed is tried again until it works; in Kafka the second failure may end the thread.
"""

from __future__ import annotations

import logging
import random
import subprocess
import threading
import time
import weakref
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from kafka_zk.sasl.client.gssapi import GssapiClient
from kafka_zk.sasl.kerberos.context import SecurityContext
from kafka_zk.sasl.kerberos.errors import GssError

PAUSE_AFTER_FAILURE_S: Final = 10.0
KINIT_TIMEOUT_S: Final = 60.0

log = logging.getLogger("org.apache.kafka.common.security.kerberos.KerberosLogin")


@dataclass(frozen=True, slots=True)
class RenewalRules:
    """sasl.kerberos.*: when a ticket is renewed, as a part of its time, and with which command in a ticket cache."""

    window_factor: float = 0.8
    window_jitter: float = 0.05
    min_time_before_relogin_ms: int = 60_000
    kinit_cmd: str = "/usr/bin/kinit"

    def pause_s(self, left_s: float, chance: float) -> float:
        """From now until the renewal of a ticket that has `left_s` left; `chance` is drawn from 0 to 1."""
        least_s = self.min_time_before_relogin_ms / 1000
        wanted_s = left_s * (self.window_factor + self.window_jitter * chance)
        if wanted_s > left_s or least_s > left_s:
            # Rather at once than with a ticket that has ended.
            return 0.0
        return max(wanted_s, least_s)


class Tickets(Protocol):
    """Those of one principal; see library.Initiator."""

    principal: str
    uses_ticket_cache: bool

    def renew(self) -> None: ...
    def lifetime_s(self) -> float: ...
    def context(self, service: str, host: str) -> SecurityContext: ...


class KerberosLogin:
    """One identity: may be used by several threads.

    A thread waits for the time to renew the ticket. It ends with the login, at the latest when that time has come.
    """

    def __init__(self, tickets: Tickets, rules: RenewalRules) -> None:
        self._tickets = tickets
        self._rules = rules

    def start(self) -> None:
        """Begin to renew the ticket in time."""
        log.info("Successfully logged in.")
        self._renew_in(self._pause_s())

    def exchange(self, service: str, host: str) -> GssapiClient:
        """What logs a connection to `host` in."""
        return GssapiClient(self._tickets.context(service, host), self._tickets.principal)

    def renew(self) -> None:
        """Blocks. Fetch the next ticket; where that fails, keep the old one and try again later."""
        try:
            if self._tickets.uses_ticket_cache:
                self._renew_ticket_cache()
            log.info("Initiating re-login for %s", self._shown)
            self._tickets.renew()
        except (GssError, OSError, subprocess.SubprocessError) as error:
            log.warning("[Principal=%s]: Error when trying to re-Login, but will retry: %s", self._shown, error)
            self._renew_in(PAUSE_AFTER_FAILURE_S)
        else:
            self._renew_in(max(self._pause_s(), self._rules.min_time_before_relogin_ms / 1000))

    @property
    def _shown(self) -> str:
        return self._tickets.principal

    def _renew_ticket_cache(self) -> None:
        """Blocks. `kinit -R`, as the user would."""
        subprocess.run(
            [self._rules.kinit_cmd, "-R"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=KINIT_TIMEOUT_S,
        )

    def _pause_s(self) -> float:
        left_s = self._tickets.lifetime_s()
        pause_s = self._rules.pause_s(left_s, random.random())
        now_s = time.time()
        log.info("[Principal=%s]: TGT expires: %s", self._shown, _shown(now_s + left_s))
        log.info("[Principal=%s]: TGT refresh sleeping until: %s", self._shown, _shown(now_s + pause_s))
        return pause_s

    def _renew_in(self, pause_s: float) -> None:
        timer = threading.Timer(min(pause_s, threading.TIMEOUT_MAX), _renew, (weakref.ref(self),))
        timer.name = f"kafka-kerberos-refresh-thread-{self._shown}"
        timer.daemon = True
        timer.start()


def _renew(login: weakref.ref[KerberosLogin]) -> None:
    alive = login()
    if alive is not None:
        alive.renew()


def _shown(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).astimezone().strftime("%a %b %d %H:%M:%S %Z %Y")
