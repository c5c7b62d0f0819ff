"""--bootstrap-server, where a tool validates it before its client does.

Role        Pure.
Source      ToolsUtils.validateBootstrapServer (tools), ToolsUtils.validatePortOrDie (core).
"""

from __future__ import annotations

from kafka_zk.client.addresses import parse_address
from kafka_zk.config.errors import ConfigException
from kafka_zk.tools.common.java_values import java_split
from kafka_zk.tools.common.options import UsageError

ADVICE = "Please provide valid host:port like host1:9091,host2:9092\n"


def check_bootstrap_servers(text: str) -> None:
    """Raise UsageError unless every part of `text` has a host and a port."""
    if not text:
        raise UsageError("Error while validating the bootstrap address\n")
    parts = java_split(text, ",")
    if not parts or not all(map(has_port, parts)):
        raise UsageError(ADVICE)


def has_port(text: str) -> bool:
    """Whether `text` ends in a port; how large it may be is checked by the client."""
    try:
        parse_address(text)
    except ConfigException as error:
        return "Invalid port" in str(error)
    return True
