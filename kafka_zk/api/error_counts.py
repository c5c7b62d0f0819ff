"""Counts the error codes in a response, for the meters ErrorsPerSec.

Role        Pure. Built from the declaration of a response, once per version.
Invariants  Codes of fields that the version does not have are not counted; NONE is.
            Differs from Kafka in rare cases: a LeaderAndIsr or StopReplica that failed as a whole counts
            each partition under its own code, and an empty answer counts nothing.
Source      errorCounts of each response class in org.apache.kafka.common.requests.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.api.error_form import CODE_FIELDS, Form
from kafka_zk.protocol.coding import Tally
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Array, Struct


def error_tally(form: Form, response: Message[Any], api_version: int) -> Tally:
    """A function that counts the error codes in responses of one version."""
    found = _tally_of(response.struct, api_version, form.uncounted, always=form.code_counts_always)
    return found or Tally(response.value_class, (), ())


def _tally_of(struct: Struct, api_version: int, skipped: str, *, always: bool = False) -> Tally | None:
    """None if there is no code field."""
    codes: list[str] = ["error_code"] if always else []
    lists: list[tuple[str, Tally]] = []
    for field in struct.fields:
        if api_version not in field.versions or field.name == skipped or field.name in codes:
            continue
        if field.name in CODE_FIELDS:
            codes.append(field.name)
        elif field.struct is not None and isinstance(field.type, Array):
            inner = _tally_of(field.struct, api_version, skipped.partition(f"{field.name}.")[2])
            if inner is not None:
                lists.append((field.name, inner))
    return Tally(struct.value_class, tuple(codes), tuple(lists)) if codes or lists else None
