"""Which quota holds for whom, and who shares it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.security.quotas.limits import CLIENTS, USERS, Entity, Limits, Tags

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "quotas" / "throttles.txt"

USER, CLIENT = (USERS, "u"), (CLIENTS, "c")
ANY_USER, ANY_CLIENT = (USERS, None), (CLIENTS, None)

PRECEDENCE: tuple[tuple[Entity, Tags], ...] = (
    ((USER, CLIENT), Tags("u", "c")),
    ((USER, ANY_CLIENT), Tags("u", "c")),
    ((USER,), Tags("u", "")),
    ((ANY_USER, CLIENT), Tags("u", "c")),
    ((ANY_USER, ANY_CLIENT), Tags("u", "c")),
    ((ANY_USER,), Tags("u", "")),
    ((CLIENT,), Tags("", "c")),
    ((ANY_CLIENT,), Tags("", "c")),
)
"""The most particular first, each with those who share it."""


@pytest.mark.parametrize("strongest", range(len(PRECEDENCE)))
def test_the_most_particular_quota_holds(strongest: int) -> None:
    limits = Limits()
    for position, (entity, _) in enumerate(PRECEDENCE):
        limits.update(entity, float(position) if position >= strongest else None)
    entity, tags = PRECEDENCE[strongest]
    assert limits.tags("u", "c") == tags, entity
    assert limits.bound(tags) == strongest


def of_kafka() -> list[tuple[str, str, str]]:
    """User, client id, and for each set of quotas of PRECEDENCE (a bit each) which holds: Kafka's own answers.

    Printed by tests/interop/java/Throttles.java.
    """
    rows = [line.split() for line in GOLDEN.read_text().splitlines() if line.startswith("Precedence")]
    return [(*who.split(","), answers) for _, who, answers in rows]  # type: ignore[misc]


@pytest.mark.parametrize(("user", "client_id", "answers"), of_kafka())
def test_of_any_set_of_quotas_the_same_holds_as_with_kafka(user: str, client_id: str, answers: str) -> None:
    found = ""
    for chosen in range(1 << len(PRECEDENCE)):
        limits = Limits()
        for position, (entity, _) in enumerate(PRECEDENCE):
            if chosen >> position & 1:
                limits.update(entity, position)
        bound = limits.bound(limits.tags(user, client_id))
        found += "-" if bound is None else str(bound)
    assert found == answers


def test_without_a_quota_there_is_no_bound() -> None:
    limits = Limits()
    assert (limits.tags("u", "c"), limits.bound(Tags("", "c"))) == (Tags("", "c"), None)
    limits.update((("users", "other"),), 1.0)
    assert limits.bound(limits.tags("u", "c")) is None


def test_users_with_quotas_only_are_told_apart_by_user() -> None:
    limits = Limits()
    limits.update((USER,), 1.0)
    assert limits.tags("u", "c") == limits.tags("u", "d") == Tags("u", "")
    assert limits.tags("v", "c") == Tags("v", "")


def test_a_quota_that_is_taken_away_leaves_the_next_one() -> None:
    limits = Limits()
    limits.update((USER,), 1.0)
    limits.update((ANY_USER,), 2.0)
    limits.update((USER,), None)
    assert limits.bound(limits.tags("u", "c")) == 2.0
    limits.update((ANY_USER,), None)
    assert len(limits) == 0
