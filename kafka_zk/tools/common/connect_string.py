"""The address of ZooKeeper that an argument names, checked before anything connects.

Role        Parses; connects to nothing.
Source      org.apache.zookeeper.client.ConnectStringParser.
"""

from __future__ import annotations

from kazoo.hosts import collect_hosts

from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.common.java_values import java_integer

LARGEST_PORT = 65535


def check_connect_string(connect: str) -> None:
    """Raises JavaError, in Java's words, for an address that has no number as its port or no name as its host."""
    for server in connect.partition("/")[0].split(","):
        host, _, port = (server, "", "") if server.endswith("]") or ":" not in server else server.rpartition(":")
        if port:
            _check_port(port)
        try:
            host.encode("idna")
        except UnicodeError as error:
            # Java asks the resolver, which knows no such name.
            name = host.encode("utf-8", "replace").decode()
            raise JavaError(f"{name}: Name or service not known", "java.net.UnknownHostException") from error
    try:
        collect_hosts(connect)
    except ValueError as error:
        raise illegal_argument(str(error)) from error


def _check_port(text: str) -> None:
    try:
        port = java_integer(text)
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from error
    if not 0 <= port <= LARGEST_PORT:
        raise illegal_argument(f"port out of range:{port}")
