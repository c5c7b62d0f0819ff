"""GSSAPI token by token with contexts that only play Kerberos, short names, and the options of Krb5LoginModule."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafka_zk.sasl.client.exchange import ExchangeFailed
from kafka_zk.sasl.client.exchange import ExchangeInterrupted as ClientInterrupted
from kafka_zk.sasl.client.gssapi import GssapiClient
from kafka_zk.sasl.client.login import AuthenticationFailed, Login, LoginInterrupted, OutOfPlace
from kafka_zk.sasl.kerberos.errors import REPLAY, SERVER_NOT_FOUND, GssError
from kafka_zk.sasl.kerberos.login import PAUSE_AFTER_FAILURE_S, KerberosLogin, RenewalRules
from kafka_zk.sasl.kerberos.names import KerberosName
from kafka_zk.sasl.kerberos.options import BadOption, Krb5Options, service_name
from kafka_zk.sasl.kerberos.short_names import BadRule, NoMatchingRule, ShortNamer
from kafka_zk.sasl.server.gssapi import GssapiServer
from kafka_zk.sasl.server.mechanism import ExchangeInterrupted, Identity, InvalidExchange

ALICE = "alice@EXAMPLE.COM"
BROKER = "kafka/b1@EXAMPLE.COM"
OFFER = b"signed \x01\0\0\0"
namer = ShortNamer("EXAMPLE.COM", ["DEFAULT"])


class PlayedContext:
    """Complete after `steps`; signing is a word in front."""

    def __init__(
        self, *, steps: int = 1, last: bytes = b"mutual", peer: str = ALICE, error: GssError | None = None
    ) -> None:
        self.peer = peer
        self.own = BROKER
        self._left = steps
        self._last = last
        self._error = error

    @property
    def is_complete(self) -> bool:
        return self._left == 0

    def step(self, token: bytes) -> bytes:
        if self._error is not None:
            raise self._error
        self._left -= 1
        return b"more" if self._left else self._last

    def wrap(self, message: bytes) -> bytes:
        return b"signed " + message

    def unwrap(self, message: bytes) -> bytes:
        if not message.startswith(b"signed "):
            raise GssError("A token had an invalid signature")
        return message.removeprefix(b"signed ")


def server(context: PlayedContext | None = None, service: str | None = None) -> GssapiServer:
    return GssapiServer(context or PlayedContext(), namer.short_name, service)


# --- the broker's half ---------------------------------------------------------------------------------------------


def test_a_ticket_is_followed_by_an_offer_of_no_protection_and_the_clients_choice() -> None:
    exchange = server(PlayedContext(steps=2))
    assert [exchange.respond(token) for token in (b"ticket", b"", b"")] == [b"more", b"mutual", OFFER]
    assert exchange.identity is None
    assert exchange.respond(b"signed \x01\0\0\0") is None
    assert exchange.identity == Identity("alice")


def test_without_a_last_token_of_the_context_the_offer_comes_at_once() -> None:
    assert server(PlayedContext(last=b"")).respond(b"ticket") == OFFER


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (b"signed \x02\0\0\0", "Client selected unsupported protection: 2"),
        (b"signed \x04\0\xff\xff", "Client selected unsupported protection: 4"),
        (b"signed \x01\0\0", "too short"),
        (b"signed ", "too short"),
        (b"\x01\0\0\0", "invalid signature"),
    ],
)
def test_a_choice_that_is_not_signed_or_wants_protection_is_refused(choice: bytes, why: str) -> None:
    exchange = server(PlayedContext(last=b""))
    exchange.respond(b"ticket")
    with pytest.raises(InvalidExchange, match=why):
        exchange.respond(choice)
    assert exchange.identity is None


def test_the_ticket_alone_says_who_the_client_is(caplog: pytest.LogCaptureFixture) -> None:
    """CVE-2017-12610: kafka-python asks for the service's name, and Kafka lets it, as the one of the ticket."""
    exchange = server(PlayedContext(last=b""))
    exchange.respond(b"ticket")
    with caplog.at_level(logging.INFO):
        assert exchange.respond(b"signed \x01\0\0\0admin") is None
    assert exchange.identity == Identity("alice")
    assert caplog.messages == [f"Successfully authenticated client: authenticationID={ALICE}; authorizationID=admin."]


def test_whom_a_client_asks_to_be_makes_no_lines_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    exchange = server(PlayedContext(last=b""))
    exchange.respond(b"ticket")
    with caplog.at_level(logging.INFO):
        exchange.respond(b"signed \x01\0\0\0" + b"a\nb" * 1000)
    assert "\n" not in caplog.messages[0]
    assert len(caplog.messages[0]) < 400


def test_nothing_is_taken_between_the_context_and_the_offer_or_after_the_end() -> None:
    exchange = server()
    exchange.respond(b"ticket")
    with pytest.raises(InvalidExchange, match="Handshake expecting no response data from server"):
        exchange.respond(b"something")
    exchange = server(PlayedContext(last=b""))
    for token in (b"ticket", b"signed \x01\0\0\0"):
        exchange.respond(token)
    with pytest.raises(InvalidExchange, match="already complete"):
        exchange.respond(b"signed \x01\0\0\0")


def test_a_replay_ends_the_connection_without_counting_and_other_errors_are_failures() -> None:
    with pytest.raises(ExchangeInterrupted, match="replay"):
        server(PlayedContext(error=GssError("Request is a replay (34)", code=REPLAY))).respond(b"ticket")
    for code in (None, 31, 32, 37, 41):
        with pytest.raises(InvalidExchange, match="no good"):
            server(PlayedContext(error=GssError("no good", code=code))).respond(b"ticket")


def test_a_broker_without_a_host_in_its_name_is_still_that_service() -> None:
    assert server(service="kafka").respond(b"ticket") == b"mutual"
    with pytest.raises(InvalidExchange, match=f"GSS context targ name protocol error: {BROKER}"):
        server(service="http").respond(b"ticket")


@pytest.mark.parametrize("peer", ["alice@OTHER.ORG", "a\\@b@EXAMPLE.COM", "a/b/c@EXAMPLE.COM"])
def test_a_client_that_no_rule_names_logs_in_but_is_nobody(peer: str) -> None:
    exchange = server(PlayedContext(last=b"", peer=peer))
    exchange.respond(b"ticket")
    assert exchange.respond(b"signed \x01\0\0\0") is None
    assert exchange.identity is not None
    assert exchange.identity.name == ""
    assert peer in exchange.identity.no_principal


# --- the client's half ---------------------------------------------------------------------------------------------


def test_the_client_chooses_no_protection_and_says_its_own_name() -> None:
    client = GssapiClient(PlayedContext(steps=2), ALICE)
    assert client.first() == b"more"
    assert client.next(b"mutual") == b"mutual"
    # A server whose last token was empty has nothing to say yet.
    assert client.next(b"") == b""
    assert not client.is_complete
    assert client.next(b"signed \x07\0\xff\xff") == b"signed \x01\0\0\0" + ALICE.encode()
    assert client.is_complete
    assert client.next(b"") is None


@pytest.mark.parametrize("offer", [b"signed \x06\0\xff\xff", b"signed \x01", b"\x01\0\0\0"])
def test_the_client_takes_no_offer_that_is_not_signed_or_without_plain_text(offer: bytes) -> None:
    client = GssapiClient(PlayedContext(), ALICE)
    client.first()
    with pytest.raises(ExchangeFailed):
        client.next(offer)
    assert not client.is_complete


def test_an_unknown_service_is_final_and_what_passes_is_tried_again() -> None:
    unknown = GssError("Server not found in Kerberos database (7)", code=SERVER_NOT_FOUND)
    with pytest.raises(ExchangeFailed, match=r"host name.* Kafka Client will go to AUTHENTICATION_FAILED state\.$"):
        GssapiClient(PlayedContext(error=unknown), ALICE).first()
    for error in (GssError("Request is a replay (34)", code=REPLAY), GssError("no ticket", lacks_credential=True)):
        with pytest.raises(ClientInterrupted, match=r"Kafka Client will retry\.$"):
            GssapiClient(PlayedContext(error=error), ALICE).first()


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (GssError("Server not found", code=SERVER_NOT_FOUND), AuthenticationFailed),
        (GssError("no ticket", lacks_credential=True), LoginInterrupted),
    ],
)
def test_a_login_ends_where_the_first_token_cannot_be_had(error: GssError, raised: type[Exception]) -> None:
    login = Login(lambda: GssapiClient(PlayedContext(error=error), ALICE), "client")
    versions = login.begin()
    login.received(_versions_answer(versions, 17, 36))
    with pytest.raises(raised):
        login.received(_handshake_answer())


def test_a_broker_before_kafka_1_is_refused() -> None:
    login = Login(lambda: GssapiClient(PlayedContext(), ALICE), "client")
    with pytest.raises(OutOfPlace, match=r"older than Kafka 1\.0"):
        login.received(_versions_answer(login.begin(), 17))


def _versions_answer(request: bytes, *keys: int) -> bytes:
    """No error; these keys in versions 0 to 1."""
    ranges = b"".join(key.to_bytes(2, "big") + b"\0\0\0\1" for key in keys)
    return request[8:12] + b"\0\0" + len(keys).to_bytes(4, "big") + ranges


def _handshake_answer() -> bytes:
    return (2**31 - 7).to_bytes(4, "big") + b"\0\0" + (1).to_bytes(4, "big") + b"\0\x06GSSAPI"


# --- short names ---------------------------------------------------------------------------------------------------


def short(name: str, *rules: str) -> str:
    return ShortNamer("EXAMPLE.COM", rules).short_name(KerberosName.parse(name))


def test_the_first_rule_that_applies_decides() -> None:
    rules = (
        "RULE:[2:$1;$2](^.*;admin$)s/;admin$//",
        "RULE:[1:$1@$0](.*@OTHER.ORG)s/@.*/-of-other/U",
        "RULE:[1:$1@$0](b[0-9]+@EXAMPLE.COM)s/b([0-9]+)@.*/broker-$1/",
        "DEFAULT",
    )
    names = ("alice@EXAMPLE.COM", "alice/admin@EXAMPLE.COM", "bob@OTHER.ORG", "b12@EXAMPLE.COM", "kafka/b1@EXAMPLE.COM")
    assert [short(name, *rules) for name in names] == ["alice", "alice", "BOB-OF-OTHER", "broker-12", "kafka"]


def test_no_rule_makes_a_stranger_somebody_of_this_realm() -> None:
    with pytest.raises(NoMatchingRule, match=r"^No rules apply to alice@OTHER.ORG, rules \[DEFAULT\]$"):
        short("alice@OTHER.ORG", "DEFAULT")
    with pytest.raises(NoMatchingRule, match=r"^Non-simple name alice@OTHER.ORG after auth_to_local rule RULE:"):
        short("alice@OTHER.ORG", "RULE:[1:$1@$0]", "DEFAULT")


@pytest.mark.parametrize(
    "rule", ["default", "RULE:[1:$1]x", "RULE:[1:$1](a", "RULE:[:$1]", "RULE:[1:$1](*)", "RULE:[1:$1](a[b[c]])"]
)
def test_what_is_no_rule_is_named(rule: str) -> None:
    with pytest.raises(BadRule):
        ShortNamer("EXAMPLE.COM", [rule])


# --- options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"keyTab": "/k"}, "useKeyTab should be set to true to use the keytab/k"),
        ({"ticketCache": "/c"}, "useTicketCache should be set to true to use the ticket cache/c"),
        ({"doNotPrompt": "true"}, "either doNotPrompt should be"),
        ({"useKeyTab": "true", "renewTGT": "TRUE"}, "renewTGT should be false"),
        ({"useKeyTab": "true", "principal": "*"}, r"principal cannot be \* when isInitiator is true"),
    ],
)
def test_options_that_krb5_login_module_refuses_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(BadOption, match=why):
        Krb5Options.of(options)


def test_a_keytab_may_be_named_as_a_file() -> None:
    found = Krb5Options.of({"useKeyTab": "True", "keyTab": "FILE:/k", "principal": "a@R", "isInitiator": "false"})
    assert found == Krb5Options("a@R", uses_keytab=True, keytab="/k", is_initiator=False)


def test_the_service_is_named_in_one_place_or_in_both_alike() -> None:
    assert service_name({"serviceName": "a"}, None) == service_name({}, "a") == service_name({"serviceName": "a"}, "a")
    with pytest.raises(BadOption, match=r"^No serviceName defined in either JAAS or Kafka config$"):
        service_name({}, None)
    with pytest.raises(
        BadOption, match=r"^Conflicting serviceName values found in JAAS and Kafka configs value in JAAS"
    ):
        service_name({"serviceName": "a"}, "b")


# --- renewal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left_s", "chance", "pause_s"),
    [(36_000, 0.0, 28_800), (36_000, 1.0, 30_600), (70, 0.0, 60), (50, 0.0, 0), (0, 0.5, 0)],
)
def test_a_ticket_is_renewed_after_a_part_of_its_time_but_not_too_often(
    left_s: float, chance: float, pause_s: float
) -> None:
    assert RenewalRules().pause_s(left_s, chance) == pytest.approx(pause_s)


class PlayedTickets:
    principal = ALICE
    uses_ticket_cache = False

    def __init__(self, *, fails: bool = False) -> None:
        self.renewals = 0
        self._fails = fails

    def renew(self) -> None:
        self.renewals += 1
        if self._fails:
            raise GssError("Cannot contact any KDC for realm 'EXAMPLE.COM'")

    def lifetime_s(self) -> float:
        return 1000.0

    def context(self, service: str, host: str) -> PlayedContext:
        return PlayedContext()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Those of the timers that were started."""
    found: list[float] = []
    monkeypatch.setattr(KerberosLogin, "_renew_in", lambda login, pause_s: found.append(pause_s))
    return found


def test_renewals_follow_each_other_and_a_failed_one_is_tried_again_soon(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    rules = RenewalRules(window_jitter=0.0)
    login = KerberosLogin(PlayedTickets(), rules)
    login.start()
    login.renew()
    failing = KerberosLogin(PlayedTickets(fails=True), rules)
    failing.renew()
    assert pauses == [800.0, 800.0, PAUSE_AFTER_FAILURE_S]
    assert "Cannot contact any KDC" in caplog.text


def test_a_ticket_cache_is_renewed_by_the_users_kinit(pauses: list[float], tmp_path: Path) -> None:
    kinit = tmp_path / "kinit"
    kinit.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n')
    kinit.chmod(0o755)
    tickets = PlayedTickets()
    tickets.uses_ticket_cache = True
    KerberosLogin(tickets, RenewalRules(kinit_cmd=str(kinit))).renew()
    assert (tmp_path / "arguments").read_text() == "-R\n"
    assert tickets.renewals == 1
    # Without a kinit the tickets stay as they are.
    KerberosLogin(tickets, RenewalRules(kinit_cmd=str(tmp_path / "none"))).renew()
    assert tickets.renewals == 1
    assert pauses[-1] == PAUSE_AFTER_FAILURE_S
