"""Which brokers a machine is to run: ids, ports, directories and properties, all from those of the first.

Role        Pure.
Invariants  No two planned brokers share an id, a port or a directory; a plan that would make them is refused.
            Each broker's properties are ones that the broker accepts.

The properties describe the first broker. Of broker number i, counted from 0:
- broker.id is that of the first plus i
- each port of listeners, advertised.listeners and kafka_zk.metrics.port is that of the first plus i
- its folder is FOLDER/broker-ID; its data are in data/ there, or in DIR/broker-ID for each DIR of log.dirs
- broker.rack is the host's name, so that no host has two replicas of a partition while another has none; what the
  properties say comes first, and an empty broker.rack sets none
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import split_csv
from kafka_zk.config.errors import ConfigException

DEFAULT_LISTENERS = "PLAINTEXT://:9092"
LARGEST_PORT = 65_535
LARGEST_COUNT = 1_000
"""More brokers than any machine has cores for."""
METRICS_PORT = "kafka_zk.metrics.port"

_LISTENER = re.compile(r"(.*://.*:)(\d+)", re.ASCII)
_FOLDER = re.compile(r"broker-(\d+)", re.ASCII)


class PlanError(Exception):
    """The brokers cannot be as they were asked for; one sentence."""


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """One broker: `folder` is its own, `listens` are the (host, port) that it opens ("": every interface)."""

    broker_id: int
    folder: Path
    properties: Mapping[str, str]
    listens: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return f"broker {self.broker_id}"


def plan_brokers(
    properties: Mapping[str, str], count: int, *, folder: Path, host: str, is_whole_cluster: bool = False
) -> list[BrokerPlan]:
    """`count` brokers like the first, which `properties` describes. Raises PlanError.

    `is_whole_cluster`: no other host has brokers, so internal topics cannot have more replicas than there are brokers.
    """
    if not 1 <= count <= LARGEST_COUNT:
        raise PlanError(f"a machine can be given 1 to {LARGEST_COUNT} brokers, not {count}")
    first = first_id(properties)
    common = dict(properties)
    common.pop("node.id", None)
    common.setdefault("listeners", DEFAULT_LISTENERS)
    if not common.setdefault("broker.rack", host):
        del common["broker.rack"]
    if is_whole_cluster and count < 3:
        common.setdefault("offsets.topic.replication.factor", str(count))
        common.setdefault("transaction.state.log.replication.factor", str(count))
        common.setdefault("transaction.state.log.min.isr", "1")
    plans = [_plan(common, first + index, index, folder) for index in range(count)]
    _refuse_shared_ports(plans)
    return plans


def first_id(properties: Mapping[str, str]) -> int:
    """The id of the first broker. Raises PlanError."""
    text = properties.get("broker.id", properties.get("node.id", "0"))
    if not (text.isascii() and text.isdecimal()):
        raise PlanError(f"broker.id of the first broker must be a number from 0 on, not {text}")
    return int(text)


def with_first_port(properties: Mapping[str, str], port: int) -> dict[str, str]:
    """`properties` with the port of the first broker's only listener. Raises PlanError where it has several."""
    listeners = split_csv(properties.get("listeners", DEFAULT_LISTENERS))
    if len(listeners) != 1 or "advertised.listeners" in properties:
        raise PlanError("--port is for brokers with one listener: give the ports in listeners and advertised.listeners")
    return {**properties, "listeners": f"{listeners[0].rpartition(':')[0]}:{port}"}


def with_absolute_directories(properties: Mapping[str, str], here: Path) -> dict[str, str]:
    """`properties` whose log.dirs mean the same from any working folder."""
    keys = [key for key in ("log.dirs", "log.dir") if key in properties]
    absolute = {key: ",".join(str(here / each) for each in split_csv(properties[key])) for key in keys}
    return {**properties, **absolute}


def folder_of(folder: Path, broker_id: int) -> Path:
    return folder / f"broker-{broker_id}"


def broker_id_of(folder: Path) -> int | None:
    """The broker whose folder this is; None for another one."""
    found = _FOLDER.fullmatch(folder.name)
    return int(found[1]) if found else None


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The keys that differ, in order."""
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))


def _plan(common: Mapping[str, str], broker_id: int, index: int, folder: Path) -> BrokerPlan:
    own = folder_of(folder, broker_id)
    directories = split_csv(common.get("log.dirs", common.get("log.dir", "")))
    properties = {
        **common,
        "broker.id": str(broker_id),
        "log.dirs": ",".join(str(folder_of(Path(each), broker_id)) for each in directories) or str(own / "data"),
        **{key: _moved(common[key], index) for key in ("listeners", "advertised.listeners") if key in common},
    }
    properties.pop("log.dir", None)
    if common.get(METRICS_PORT, "").isdecimal():
        properties[METRICS_PORT] = str(int(common[METRICS_PORT]) + index)
    try:
        config = BrokerConfig.from_properties(properties)
    except ConfigException as error:
        raise PlanError(f"broker {broker_id}: {error}") from error
    listens = [(each.host, each.port) for each in config.listeners]
    if config.kafka_zk_metrics_port is not None:
        listens.append((config.kafka_zk_metrics_host, config.kafka_zk_metrics_port))
    return BrokerPlan(broker_id, own, properties, tuple(listens))


def _moved(listeners: str, by: int) -> str:
    """The same listeners, each port higher by `by`. An entry of another form is left for the broker to refuse."""
    moved = []
    for entry in split_csv(listeners):
        found = _LISTENER.fullmatch(entry)
        moved.append(f"{found[1]}{int(found[2]) + by}" if found else entry)
    return ",".join(moved)


def _refuse_shared_ports(plans: Iterable[BrokerPlan]) -> None:
    """Raises PlanError for a port of two brokers, or of two parts of one, and for a number that is no port."""
    taken: dict[int, BrokerPlan] = {}
    for plan in plans:
        for port in sorted({port for _, port in plan.listens}):
            if not 1 <= port <= LARGEST_PORT:
                raise PlanError(f"{plan.name} would listen on port {port}: ports go from 1 to {LARGEST_PORT}")
            other = taken.setdefault(port, plan)
            if other is not plan:
                raise PlanError(
                    f"{other.name} and {plan.name} would both listen on port {port}: set the ports of the first "
                    "broker further apart than there are brokers"
                )
