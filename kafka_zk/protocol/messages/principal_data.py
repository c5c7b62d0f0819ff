"""The principal inside an Envelope, behind an i16 version."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, STRING, Field

DEFAULT_PRINCIPAL_DATA = Message(
    "DefaultPrincipalData",
    versions="0",
    flexible="0+",
    fields=(
        Field("type", "0+", STRING),
        Field("name", "0+", STRING),
        Field("token_authenticated", "0+", BOOL),
    ),
)

DefaultPrincipalData = DEFAULT_PRINCIPAL_DATA.value_class
