"""Client quotas and SCRAM credentials: set, seen, filtered, taken away; and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_zk.protocol.messages import alter_client_quotas as altering
from kafka_zk.protocol.messages import alter_user_scram_credentials as scram_altering
from kafka_zk.protocol.messages import describe_client_quotas as describing
from kafka_zk.protocol.messages import describe_user_scram_credentials as scram_describing
from tests.interop.replay.scenario import Exchange
from tests.support.allowed import Allowed, allowed

EXACT, DEFAULT, ANY = 0, 1, 2
SHA_256, SHA_512 = 1, 2
REMOVED = None

Names = dict[str, str | None]


def alter(name: str, *entries: tuple[Names, dict[str, float | None]], validate_only: bool = False) -> Exchange:
    """Set quotas, or remove those that are None."""
    request = altering.AlterClientQuotasRequest(
        entries=[
            altering.RequestEntryData(
                entity=[altering.EntityData(entity_type=kind, entity_name=entity) for kind, entity in names.items()],
                ops=[
                    altering.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in changes.items()
                ],
            )
            for names, changes in entries
        ],
        validate_only=validate_only,
    )
    return Exchange(f"alter quotas: {name}", altering.ALTER_CLIENT_QUOTAS_REQUEST, lambda world, version: request)


def alter_in_steps(name: str, entity: Names, *steps: tuple[str, float | None]) -> Exchange:
    """Several operations, one after the other."""
    request = altering.AlterClientQuotasRequest(
        entries=[
            altering.RequestEntryData(
                entity=[altering.EntityData(entity_type=kind, entity_name=named) for kind, named in entity.items()],
                ops=[
                    altering.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in steps
                ],
            )
        ]
    )
    return Exchange(f"alter quotas: {name}", altering.ALTER_CLIENT_QUOTAS_REQUEST, lambda world, version: request)


def alter_twice_named(name: str, **changes: float) -> Exchange:
    """Of an entity of which two parts have the same type."""
    parts = ((U, "alice"), (C, ""), (C, "twice-named"))
    request = altering.AlterClientQuotasRequest(
        entries=[
            altering.RequestEntryData(
                entity=[altering.EntityData(entity_type=kind, entity_name=entity) for kind, entity in parts],
                ops=[altering.OpData(key=key, value=value) for key, value in changes.items()],
            )
        ]
    )
    return Exchange(f"alter quotas: {name}", altering.ALTER_CLIENT_QUOTAS_REQUEST, lambda world, version: request)


def one(names: Names, **changes: float | None) -> tuple[Names, dict[str, float | None]]:
    return names, dict(changes)


def describe(name: str, *components: tuple[str, int, str | None], strict: bool = False) -> Exchange:
    request = describing.DescribeClientQuotasRequest(
        components=[
            describing.ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        strict=strict,
    )
    return Exchange(f"quotas: {name}", describing.DESCRIBE_CLIENT_QUOTAS_REQUEST, lambda world, version: request)


def both_ways(name: str, *components: tuple[str, int, str | None]) -> tuple[Exchange, Exchange]:
    return describe(name, *components), describe(f"{name}, strictly", *components, strict=True)


def upsert(user: str, mechanism: int = SHA_256, iterations: int = 4096, salt: bytes = b"salt") -> Any:
    salted = bytes(range(32)) if mechanism == SHA_256 else bytes(range(64))
    return scram_altering.ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
    )


def delete(user: str, mechanism: int = SHA_256) -> Any:
    return scram_altering.ScramCredentialDeletion(name=user, mechanism=mechanism)


def scram(name: str, *changes: Any, ignore: Mapping[str, Allowed] | None = None) -> Exchange:
    deletions = [each for each in changes if isinstance(each, scram_altering.ScramCredentialDeletion)]
    upsertions = [each for each in changes if isinstance(each, scram_altering.ScramCredentialUpsertion)]
    request = scram_altering.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    message = scram_altering.ALTER_USER_SCRAM_CREDENTIALS_REQUEST
    return Exchange(f"alter credentials: {name}", message, lambda world, version: request, ignore=ignore or {})


def credentials(
    name: str, *users: str, everybody: bool = False, ignore: Mapping[str, Allowed] | None = None
) -> Exchange:
    request = scram_describing.DescribeUserScramCredentialsRequest(
        users=None if everybody else [scram_describing.UserName(name=user) for user in users]
    )
    message = scram_describing.DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST
    return Exchange(f"credentials: {name}", message, lambda world, version: request, ignore=ignore or {})


NO_WORDS = {"error_message": allowed("users-without-a-znode")}
NO_ZNODE = {"error_code": allowed("users-without-a-znode"), **NO_WORDS}

RATE = "producer_byte_rate"
U, C, IP = "user", "client-id", "ip"
ALICE, BOB, ANY_USER = {U: "alice"}, {U: "bob"}, {U: None}
APP, ANY_CLIENT = {C: "app"}, {C: None}
STRANGE = {U: "ali ce/ä", C: "a+b %"}
LOCAL, ANY_IP = {IP: "127.0.0.9"}, {IP: None}

SETTING_UP = (
    describe("nothing is configured"),
    alter("a user", one(ALICE, producer_byte_rate=1024.0, consumer_byte_rate=2048.0, request_percentage=12.5)),
    alter("a user once more", one(ALICE, controller_mutation_rate=0.1, producer_byte_rate=5000.0)),
    alter("a client", one(APP, consumer_byte_rate=1e9, request_percentage=200.0)),
    alter("defaults", one(ANY_USER, producer_byte_rate=1e12), one(ANY_CLIENT, request_percentage=1e7)),
    alter("a user's client", one({**BOB, **APP}, producer_byte_rate=7.0)),
    alter("a user's clients", one({**ALICE, **ANY_CLIENT}, producer_byte_rate=8.0)),
    alter("any user's client", one({**ANY_USER, **APP}, request_percentage=0.001)),
    alter("any user's clients", one({**ANY_USER, **ANY_CLIENT}, consumer_byte_rate=9.0)),
    alter("strange names", one(STRANGE, producer_byte_rate=10.0), one({U: "<default>"}, producer_byte_rate=11.0)),
    alter("ips", one(LOCAL, connection_creation_rate=100.0), one(ANY_IP, connection_creation_rate=1000.0)),
    alter("a host", one({IP: "localhost"}, connection_creation_rate=50.0)),
)

REFUSED = (
    alter("an unknown key", one(ALICE, no_such_rate=1.0)),
    alter("an unknown key taken away", one(ALICE, no_such_rate=REMOVED)),
    alter("a key of ips for a user", one(ALICE, connection_creation_rate=1.0)),
    alter("a key of users for an ip", one(LOCAL, producer_byte_rate=1.0)),
    alter("half a byte", one(ALICE, producer_byte_rate=1.5)),
    alter("nearly a byte", one(ALICE, producer_byte_rate=1.0000001)),
    alter("half a connection", one(LOCAL, connection_creation_rate=1.5)),
    alter("less than no connections", one(LOCAL, connection_creation_rate=-1.0)),
    alter("too many connections", one(LOCAL, connection_creation_rate=1e12)),
    alter("less than no bytes", one({U: "negative"}, producer_byte_rate=-1.0)),
    alter("no bytes", one({U: "zero"}, producer_byte_rate=0.0, consumer_byte_rate=0.0)),
    alter("not a number", one({U: "nan"}, request_percentage=float("nan"))),
    alter("bytes that are not a number", one({U: "nan2"}, producer_byte_rate=float("nan"))),
    alter("without end", one({U: "inf"}, request_percentage=float("inf"))),
    alter("bytes without end", one({U: "inf2"}, producer_byte_rate=float("inf"))),
    # Which would be different from itself.
    alter("what is not a number, taken away", one({U: "nan"}, request_percentage=REMOVED)),
    alter("an empty entity", one({}, producer_byte_rate=1.0)),
    alter("an empty user", one({U: ""}, producer_byte_rate=1.0)),
    alter("an empty client", one({C: ""}, producer_byte_rate=1.0)),
    alter("an empty ip", one({IP: ""}, connection_creation_rate=1.0)),
    alter("an unknown type", one({"group": "g"}, producer_byte_rate=1.0)),
    alter("an ip and a user", one({**LOCAL, **ALICE}, connection_creation_rate=1.0)),
    # Longer than a name may be: nobody has to be asked.
    alter("a host that cannot be", one({IP: "x" * 64}, connection_creation_rate=1.0)),
    alter("no operations", one({U: "nobody"})),
    alter("nothing at all"),
    alter("a quota that is not there, taken away", one({U: "nobody2"}, producer_byte_rate=REMOVED)),
    alter("a good one beside a bad one", one({U: "good"}, producer_byte_rate=3.0), one({U: "bad"}, no_such_rate=1.0)),
    alter("a host that needs sanitizing", one({IP: "a b/c"}, connection_creation_rate=1.0)),
    alter_in_steps("a wrong key that goes again", {U: "steps"}, ("no_such_rate", 1.0), ("no_such_rate", REMOVED)),
    alter_in_steps("a wrong value, then a right one", {U: "steps"}, (RATE, 1.5), (RATE, 2.0)),
    alter_in_steps("a value, and another", {U: "steps"}, (RATE, 5.0), (RATE, REMOVED), (RATE, 2.0)),
    alter_twice_named("a type twice", producer_byte_rate=3.0),
    alter_twice_named("a type twice, and a wrong key", no_such_rate=3.0),
    alter("only to see", one({U: "unseen"}, producer_byte_rate=3.0), validate_only=True),
    alter("only to see a bad one", one({U: "unseen"}, no_such_rate=3.0), validate_only=True),
    alter("one entity twice", one({U: "twice"}, producer_byte_rate=3.0), one({U: "twice"}, consumer_byte_rate=4.0)),
)

SEEN = (
    describe("all"),
    describe("all, strictly", strict=True),
    *both_ways("users", (U, ANY, None)),
    *both_ways("a user", (U, EXACT, "alice")),
    *both_ways("the default user", (U, DEFAULT, None)),
    *both_ways("clients", (C, ANY, None)),
    *both_ways("a client", (C, EXACT, "app")),
    *both_ways("the default client", (C, DEFAULT, None)),
    *both_ways("users and clients", (U, ANY, None), (C, ANY, None)),
    *both_ways("a user and clients", (U, EXACT, "alice"), (C, ANY, None)),
    *both_ways("users and a client", (U, ANY, None), (C, EXACT, "app")),
    *both_ways("a user and a client", (U, EXACT, "bob"), (C, EXACT, "app")),
    *both_ways("the default user and a client", (U, DEFAULT, None), (C, EXACT, "app")),
    *both_ways("both defaults", (U, DEFAULT, None), (C, DEFAULT, None)),
    *both_ways("of strange names", (U, EXACT, "ali ce/ä"), (C, EXACT, "a+b %")),
    *both_ways("nobody", (U, EXACT, "nobody at all")),
    *both_ways("ips", (IP, ANY, None)),
    *both_ways("an ip", (IP, EXACT, "127.0.0.9")),
    *both_ways("the default ip", (IP, DEFAULT, None)),
    *both_ways("an unknown ip", (IP, EXACT, "1.2.3.4")),
    describe("an ip and a user", (IP, ANY, None), (U, ANY, None)),
    describe("a type twice", (U, ANY, None), (U, EXACT, "alice")),
    describe("clients twice", (C, ANY, None), (C, EXACT, "alice")),
    describe("ips twice", (IP, ANY, None), (IP, EXACT, "alice")),
    describe("an empty type", ("", ANY, None)),
    describe("an unknown type", ("group", ANY, None)),
    describe("an unknown match", (U, 7, None)),
    describe("an exact match of nothing", (U, EXACT, None)),
    *both_ways("an exact match of an empty name", (U, EXACT, "")),
    *both_ways("an exact match of an empty client", (C, EXACT, "")),
    *both_ways("an exact match of a dot as an ip", (IP, EXACT, ".")),
    *both_ways("an exact match of two dots beside any client", (U, EXACT, ".."), (C, ANY, None)),
    *both_ways("an exact match of two dots beside the default", (U, DEFAULT, None), (C, EXACT, "..")),
    describe("a default with a name", (U, DEFAULT, "alice")),
    describe("any with a name", (U, ANY, "alice")),
)

CREDENTIALS = (
    credentials("of everybody, without any", everybody=True),
    scram("a user", upsert("alice")),
    scram("both mechanisms", upsert("carol"), upsert("carol", SHA_512, 8192)),
    scram("two users", upsert("dave", SHA_512, 16384), upsert("erin", salt=bytes(range(20)))),
    scram("a strange name", upsert("ali ce/ä")),
    scram("too few iterations", upsert("frank", iterations=4095)),
    scram("too many iterations", upsert("frank", iterations=16385)),
    scram("an unknown mechanism", upsert("frank", mechanism=3)),
    scram("no mechanism", upsert("frank", mechanism=0)),
    scram("an empty name", upsert("")),
    scram("an empty name and an unknown mechanism", upsert("", mechanism=9, iterations=1)),
    scram("a user twice", upsert("frank"), upsert("frank")),
    scram("a user twice, once wrong", upsert("frank"), upsert("frank", iterations=1)),
    scram("a user set and deleted", upsert("frank"), delete("frank")),
    scram("a user set and another mechanism deleted", upsert("carol"), delete("carol", SHA_512)),
    scram("a good one beside a bad one", upsert("grace"), upsert("frank", iterations=1)),
    scram("a missing one deleted", delete("nobody")),
    scram("a missing mechanism deleted", delete("alice", SHA_512)),
    scram("one mechanism there and one missing", delete("alice"), delete("alice", SHA_512)),
    scram("an unknown mechanism deleted", delete("alice", 7)),
    scram("an empty name deleted", delete("")),
    scram("nothing"),
    credentials("of everybody", everybody=True),
    credentials("of nobody in particular"),
    credentials("of one", "carol"),
    credentials("of two", "carol", "dave"),
    credentials("of one without", "bob"),
    credentials("of one unknown", "nobody"),
    credentials("of one twice", "carol", "carol"),
    credentials("of one twice and another", "carol", "dave", "carol"),
    credentials("of an empty name", ""),
    credentials("of one dot", ".", ignore=NO_ZNODE),
    credentials("of dots beside another", "..", "carol", ".", ignore=NO_ZNODE),
    scram("one dot", upsert("."), ignore=NO_WORDS),
    scram("two dots deleted", delete(".."), ignore=NO_WORDS),
    describe("users with credentials", (U, ANY, None), strict=True),
)

TAKEN_AWAY = (
    alter("one of a user's quotas", one(ALICE, request_percentage=REMOVED)),
    alter("the last of a client with others below", one({**BOB, **APP}, producer_byte_rate=REMOVED)),
    alter("a user with clients", one(ANY_USER, producer_byte_rate=REMOVED)),
    alter("a client of two", one({**ANY_USER, **APP}, request_percentage=REMOVED)),
    alter("the last client of a user without quotas", one({**ANY_USER, **ANY_CLIENT}, consumer_byte_rate=REMOVED)),
    alter("the last client of a user with quotas", one({**ALICE, **ANY_CLIENT}, producer_byte_rate=REMOVED)),
    alter("strange names, taken away", one(STRANGE, producer_byte_rate=REMOVED)),
    alter("ip", one(LOCAL, connection_creation_rate=REMOVED)),
    alter("user twice zero", one({U: "zero"}, producer_byte_rate=REMOVED, consumer_byte_rate=REMOVED)),
    alter("what only credentials leave", one({U: "erin"}, producer_byte_rate=5.0)),
    alter("leaving only credentials", one({U: "erin"}, producer_byte_rate=REMOVED)),
    scram("the last credential", delete("dave", SHA_512)),
    scram("one credential of two", delete("carol", SHA_512)),
    describe("what is left"),
    credentials("what is left", everybody=True),
)

EXCHANGES = (*SETTING_UP, *REFUSED, *SEEN, *CREDENTIALS, *TAKEN_AWAY)
