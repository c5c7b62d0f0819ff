"""The text of a client's address.

Role        Pure.
Source      InetAddress.getHostAddress: IPv6 with all eight groups, IPv4 in IPv6 as IPv4, a scope behind `%`.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def as_java_prints(address: str) -> str:
    """`0:0:0:0:0:0:0:1` for `::1`: what hosts of ACLs, group members and logs show. Raises ValueError."""
    bare, percent, scope = address.partition("%")
    parsed = ip_address(bare)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    groups = (f"{int(group, 16):x}" for group in parsed.exploded.split(":"))
    return ":".join(groups) + percent + scope
