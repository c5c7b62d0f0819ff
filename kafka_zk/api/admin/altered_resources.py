"""What AlterConfigs and IncrementalAlterConfigs share: check all resources, then write the valid ones.

Role        What a broker can decide alone (loggers, its own values, malformed requests) comes first for all
            resources; topics and brokers are authorized and written after that.
Source      ConfigAdminManager.preprocess; KafkaApis.processIncrementalAlterConfigsRequest and
            processLegacyAlterConfigsRequest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from kafka_zk.admin.config_rules import Change, ConfigResourceType, check_changes
from kafka_zk.api.admin.config_authorization import authorize_configs
from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import Operation
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import IN_WORDS, per_item
from kafka_zk.giving_way import in_turns, let_go
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidRequest

Resource = tuple[int, str, Sequence[Change]]
"""Type, name, and what changes."""
Outcome = tuple[ErrorCode, str | None]
"""Code and message of one resource."""
DONE: Outcome = (ErrorCode.NONE, None)

_STORED = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.CLIENT_METRICS)


A = TypeVar("A", covariant=True)


class Answer(Protocol[A]):
    """The response class of one resource: the two APIs have the same fields in different classes."""

    def __call__(self, *, error_code: int, error_message: str | None, resource_type: int, resource_name: str) -> A: ...


def alter_all(
    resources: list[Resource], ctx: RequestContext, answer: Answer[A], *, keep_others: bool, validate_only: bool
) -> list[A]:
    """Blocks. Alter each resource; results in the request's order. Consumes `resources`.

    `keep_others`: only the named keys change; else they replace all others, and loggers are refused.
    """
    outcomes = _outcomes(resources, ctx, keep_others=keep_others, validate_only=validate_only)
    answers: dict[tuple[int, str, Outcome], A] = {}

    def answer_of(kind: int, name: str, outcome: Outcome) -> A:
        """Equal results share one object."""
        code, message = outcome
        found = answers.get((kind, name, outcome))
        if found is None:
            found = answer(error_code=code, error_message=message, resource_type=kind, resource_name=name)
            if len(answers) < IN_WORDS:
                answers[kind, name, outcome] = found
        return found

    told = [
        answer_of(kind, name, outcome) for (kind, name, _), outcome in in_turns(zip(resources, outcomes, strict=True))
    ]
    let_go(resources)
    return told


def _outcomes(
    resources: Sequence[Resource], ctx: RequestContext, *, keep_others: bool, validate_only: bool
) -> list[Outcome]:
    occurrences: dict[int, dict[str, int]] = {}
    for kind, name, _ in in_turns(resources):
        counts = occurrences.setdefault(kind, {})
        counts[name] = counts.get(name, 0) + 1
    admin = ctx.services.config_admin

    def look_at(resource: Resource) -> Outcome | None:
        """The result, or None if the resource still has to be altered."""
        kind, name, changes = resource
        if occurrences[kind][name] > 1:
            raise InvalidRequest("Each resource must appear at most once.")
        check_changes(changes)
        if kind == ConfigResourceType.BROKER_LOGGER and keep_others:
            authorize_configs(ctx, Operation.ALTER_CONFIGS, kind, name)
            admin.alter_log_levels(name, changes, validate_only=validate_only)
            return DONE
        if kind == ConfigResourceType.BROKER:
            # Before its values are looked at, which may read files: Kafka looks first.
            authorize_configs(ctx, Operation.ALTER_CONFIGS, kind, name)
            admin.check_broker(name, changes, keep_others=keep_others)
        elif kind not in _STORED:
            raise InvalidRequest(f"Unknown resource type {kind}")
        return None

    def write(resource: Resource) -> Outcome:
        kind, name, changes = resource
        if kind != ConfigResourceType.BROKER:
            authorize_configs(ctx, Operation.ALTER_CONFIGS, kind, name)
        if kind == ConfigResourceType.TOPIC:
            admin.alter_topic(name, changes, keep_others=keep_others, validate_only=validate_only)
        elif kind == ConfigResourceType.BROKER:
            admin.alter_broker(name, changes, keep_others=keep_others, validate_only=validate_only)
        else:
            noun = ConfigResourceType(kind).name
            raise InvalidRequest(f"AlterConfigs is only supported for topics and brokers, but resource type is {noun}")
        return DONE

    looked_at = per_item(resources, look_at, _refused)
    left = [resource for resource, outcome in in_turns(zip(resources, looked_at, strict=True)) if outcome is None]
    written = iter(per_item(left, write, _refused))
    return [next(written) if outcome is None else outcome for outcome in in_turns(looked_at)]


def _refused(_: Resource, error: BrokerError) -> Outcome:
    """Not the error itself: its traceback would keep all frames alive."""
    return _outcome(error.code, api_error_message(error))


@lru_cache(IN_WORDS)
def _outcome(code: ErrorCode, words: str | None) -> Outcome:
    """Equal results share one object."""
    return code, words
