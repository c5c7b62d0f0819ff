"""Options of kafka-streams-application-reset.sh, and which topics they mean.

Role        Pure.
Source      StreamsResetter.StreamsResetterOptions, StreamsResetter.matchesInternalTopicFormat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError, VersionAsked

_WITH_VALUE = (
    "bootstrap-server",
    "bootstrap-servers",
    "by-duration",
    "config-file",
    "from-file",
    "shift-by",
    "to-datetime",
    "to-offset",
)
OPTIONS = (
    Option("application-id", True, is_required=True),
    *(Option(name, True) for name in _WITH_VALUE),
    *(Option(name, True, separator=",") for name in ("input-topics", "intermediate-topics", "internal-topics")),
    *(Option(name) for name in ("dry-run", "force", "help", "to-earliest", "to-latest", "version")),
)
SCENARIOS = ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "from-file", "shift-by")
DEFAULT_SERVER = "localhost:9092"
_INTERNAL = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-[0-9]+-topic)",
    re.DOTALL,
)


def parsed(arguments: Sequence[str], about: str) -> Options:
    """Raises UsageError, VersionAsked."""
    try:
        options = Options(OPTIONS, arguments)
    except OptionError as error:
        raise UsageError(str(error)) from error
    if options.has("help"):
        raise UsageError(about)
    if options.has("version"):
        raise VersionAsked
    for scenario in SCENARIOS:
        options.refuse_beside(scenario, (other for other in SCENARIOS if other != scenario))
    return options


def bootstrap_servers(options: Options) -> str:
    """Raises OptionError."""
    for name in ("bootstrap-server", "bootstrap-servers"):
        if options.has(name):
            return options.text(name) or ""
    return DEFAULT_SERVER


def application_id(options: Options) -> str:
    """Raises OptionError."""
    found = options.text("application-id")
    assert found is not None, "it is required"
    return found


def is_inferred_internal_topic(options: Options, topic: str) -> bool:
    """Whether the name is that of an internal topic of the application; topics named as input never are."""
    return (
        topic not in options.texts("input-topics")
        and topic not in options.texts("intermediate-topics")
        and topic.startswith(f"{application_id(options)}-")
        and matches_internal_topic_format(topic)
    )


def matches_internal_topic_format(topic: str) -> bool:
    return _INTERNAL.fullmatch(topic) is not None
