"""Errors about groups and topics, which name what a client may not use.

Role        Pure. A response carries the code alone; Java's exceptions name the group and the topics, and so do these.
Source      GroupAuthorizationException.forGroupId, TopicAuthorizationException.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for

_OF_TOPICS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Not authorized to access topics",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "Invalid topics",
}
WHAT_WAITING_DOES_NOT_RESOLVE = tuple(_OF_TOPICS)
"""Errors of a topic that a client tells at once."""


def error_about_group(code: int, group_id: str) -> BrokerError:
    """Of a response about a group; not for NONE."""
    if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return error_class_for(code)(f"Not authorized to access group: {group_id}")
    return error_class_for(code)()


def error_about_topics(code: int, topics: Iterable[str]) -> BrokerError:
    """Of a response about topics, which are named in order; not for NONE."""
    words = _OF_TOPICS.get(ErrorCode(code)) if code in WHAT_WAITING_DOES_NOT_RESOLVE else None
    return error_class_for(code)(words and f"{words}: [{', '.join(sorted(topics))}]")
