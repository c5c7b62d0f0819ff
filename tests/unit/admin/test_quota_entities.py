"""Whom a quota is for, and which of them a filter lets through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_zk.admin.quota_entities import ANYTHING, Anything, QuotaFilter, entity_of, names_of
from kafka_zk.protocol.errors import BrokerError, InvalidRequest, UnsupportedVersion
from kafka_zk.security.quotas.limits import Entity

ALICE, ANY_USER = ("users", "alice"), ("users", None)
APP, ANY_CLIENT = ("clients", "app"), ("clients", None)
ENTITIES: tuple[Entity, ...] = (
    (ALICE,),
    (ANY_USER,),
    (APP,),
    (ANY_CLIENT,),
    (ALICE, APP),
    (ANY_USER, ANY_CLIENT),
    (("ips", "10.0.0.1"),),
    (("ips", None),),
)
U, C, IP = "user", "client-id", "ip"

FILTERS: tuple[tuple[dict[str, str | Anything | None], bool, str], ...] = (
    ({}, False, "01234567"),
    ({}, True, ""),
    ({U: "alice"}, False, "04"),
    ({U: "alice"}, True, "0"),
    ({U: None}, False, "15"),
    ({U: ANYTHING}, True, "01"),
    ({C: ANYTHING}, False, "2345"),
    ({U: ANYTHING, C: ANYTHING}, True, "45"),
    ({U: "alice", C: "app"}, False, "4"),
    ({U: None, C: None}, False, "5"),
    ({IP: ANYTHING}, True, "67"),
    ({IP: None}, False, "7"),
)


@pytest.mark.parametrize(("wanted", "strict", "expected"), FILTERS)
def test_a_filter_lets_through_who_has_its_parts(
    wanted: dict[str, str | Anything | None], strict: bool, expected: str
) -> None:
    chosen = QuotaFilter.of(wanted.items(), strict=strict)
    assert "".join(str(i) for i, entity in enumerate(ENTITIES) if chosen.lets_through(entity)) == expected


def test_names_and_entities_are_the_same_thing() -> None:
    for entity in ENTITIES:
        assert entity_of(names_of(entity)) == entity


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "Invalid empty client quota entity"),
        ({"group": "g"}, "Unhandled client quota entity type: group"),
        ({U: ""}, "Empty user not supported"),
        ({IP: "10.0.0.1", U: "alice"}, "Invalid quota entity combination"),
    ],
)
def test_an_entity_that_makes_no_sense_is_refused(names: Mapping[str, str | None], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        entity_of(names)


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([(U, ANYTHING), (U, "alice")], InvalidRequest),
        ([("", ANYTHING)], InvalidRequest),
        ([(IP, ANYTHING), (U, ANYTHING)], InvalidRequest),
        ([("group", ANYTHING)], UnsupportedVersion),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    components: list[tuple[str, str | Anything | None]], error: type[BrokerError]
) -> None:
    with pytest.raises(error):
        QuotaFilter.of(components, strict=False)
