"""The internal topics, which brokers create and write."""

from __future__ import annotations

from typing import Final

GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))
