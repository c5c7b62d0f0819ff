"""Names in paths: sanitized entities, sequence numbers, persistent paths.

Role        Pure.
Source      org.apache.kafka.common.utils.Sanitizer; kafka.zk.ZkData; KAFKA-6672 (parents of /config/changes).
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_plus

DEFAULT_ENTITY = "<default>"

CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")

# In the order Kafka creates them.
PERSISTENT_PATHS = (
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/admin/delete_topics",
    "/brokers/seqid",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    *(f"/config/{entity_type}" for entity_type in CONFIG_TYPES),
)

# Java's pairs of surrogates are in there: all characters beyond 16 bits.
_UNFIT = re.compile("[\\0-\\x1f\\x7f-\\x9f\\ud800-\\uf8ff\\ufff0-\\U0010ffff]")


def sanitize(name: str) -> str:
    """A name as it appears in a path: UTF-8 in percent form, all but letters, digits and `.-_`."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str:
    """Read `sanitize` back."""
    return unquote_plus(name)


def entity_path(*entities: tuple[str, str | None]) -> str:
    """An entity's place below /config: ("users", "bob"), ("clients", None) is users/bob/clients/<default>."""
    return "/".join(
        f"{entity_type}/{DEFAULT_ENTITY if name is None else sanitize(name)}" for entity_type, name in entities
    )


def entities_of(path: str) -> list[tuple[str, str | None]]:
    """Read `entity_path` back. Raises ValueError for an odd number of names."""
    names = path.split("/")
    if len(names) % 2:
        raise ValueError(f"not an entity path: {path}")
    pairs = zip(names[::2], names[1::2], strict=True)
    return [(entity_type, None if name == DEFAULT_ENTITY else desanitize(name)) for entity_type, name in pairs]


def sequence_number(name: str) -> int:
    """The number ZooKeeper has appended to a sequential znode's name or path. Raises ValueError."""
    return int(name[-10:])


def may_be_znode(name: str) -> bool:
    """Whether ZooKeeper takes `name` as what follows a path and a slash. Source: PathUtils.validatePath."""
    return _UNFIT.search(name) is None and not {"", ".", ".."} & set(name.split("/"))
