"""Hosts of a test on this machine: network namespaces on one bridge, whose links to each other can be cut.

Needs root and iproute2. A cut drops frames, as a pulled cable does: neither side is told.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Sequence

_networks = itertools.count()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """`count` hosts with an address each; `gateway` is this process's own address among them.

    The addresses are of the range for benchmarks of networks (RFC 2544), which no real host has.
    """

    def __init__(self, count: int) -> None:
        number = (os.getpid() * 7 + next(_networks)) % 250
        self._name = f"kz{number}"
        self._prefix = f"198.18.{number}"
        self.gateway = f"{self._prefix}.1"
        self._count = count
        try:
            _ip("link", "add", self._name, "type", "bridge")
            _ip("address", "add", f"{self.gateway}/24", "dev", self._name)
            _ip("link", "set", self._name, "up")
            for host in range(count):
                self._add(host)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """The processes in it must have ended."""
        for host in range(self._count):
            subprocess.run(["ip", "netns", "delete", self._namespace(host)], capture_output=True)
        subprocess.run(["ip", "link", "delete", self._name], capture_output=True)

    def address(self, host: int) -> str:
        return f"{self._prefix}.{10 + host}"

    def command(self, host: int, command: Sequence[str]) -> list[str]:
        """What runs a command there; the process has the command's own pid."""
        return ["ip", "netns", "exec", self._namespace(host), *command]

    def cut(self, one: int, other: int) -> None:
        """These two reach each other no longer; everybody else reaches both."""
        self._isolate("on", one, other)

    def heal(self, *hosts: int) -> None:
        self._isolate("off", *hosts)

    def _isolate(self, state: str, *hosts: int) -> None:
        # Isolated ports of a bridge send each other nothing.
        for host in hosts:
            _ip("link", "set", self._port(host), "type", "bridge_slave", "isolated", state)

    def _add(self, host: int) -> None:
        namespace, port = self._namespace(host), self._port(host)
        _ip("netns", "add", namespace)
        _ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", port, "master", self._name, "up")
        _ip("-n", namespace, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")

    def _namespace(self, host: int) -> str:
        return f"{self._name}-{host}"

    def _port(self, host: int) -> str:
        return f"{self._name}p{host}"
