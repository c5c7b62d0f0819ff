"""What kafka-cluster-up.sh takes, and the properties of the first broker that follow.

Role        Pure, but for --help, which prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from kafka_zk.config.properties import apply_overrides
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.arguments import add_timeout, number, parser_of
from kafka_zk.tools.common.local_cluster.plan import with_absolute_directories, with_first_port

NAME = "kafka-cluster-up"
START_S = 600
"""A broker that was killed first checks what it wrote last."""
LOCAL_ZOOKEEPER = "127.0.0.1:2181"

DESCRIPTION = """\
Starts N brokers on this machine, in the background: one process for each core that Kafka may use. Starts only those
that are not running, so a larger N adds brokers. Ends once each of them serves; if one cannot start, or on Ctrl-C, it
stops those that it started.

--config FILE is the server.properties of the first broker. Of broker number i, counted from 0:
  broker.id   that of the first + i
  ports       each port of listeners, advertised.listeners and kafka_zk.metrics.port + i
  folder      FOLDER/broker-ID: server.properties, logs/, data/; where FILE has log.dirs, the data of each broker
              are in DIR/broker-ID of each of these directories
  rack        broker.rack is the name of this host, unless FILE has one: replicas of a partition are then on
              different hosts, if several hosts do this with ids of their own (--first-id)

What was given is kept in FOLDER/common.properties and holds for later runs: options change single properties of it,
--config replaces them all. Running brokers take changes at their next start."""

EPILOG = """\
examples:
  kafka-cluster-up.sh 3 --with-zookeeper                    a cluster to try things on, on ports 9092 to 9094
  kafka-cluster-up.sh 5                                     two more
  kafka-cluster-up.sh 8 --folder /srv/kafka --config server.properties --first-id 100
                                                            ids 100 to 107 on this host, another range on the next
  kafka-cluster-up.sh 3 --override log.retention.hours=24   change a setting; kafka-cluster-restart.sh applies it
"""


def parser() -> argparse.ArgumentParser:
    made = parser_of(NAME, DESCRIPTION, EPILOG)
    add = made.add_argument
    add("count", type=_count, metavar="N", help="how many brokers are to run on this machine")
    add("--config", type=Path, metavar="FILE", help="the first broker's server.properties")
    add("--override", action="append", default=[], metavar="KEY=VALUE", help="a property; may be given several times")
    add("--zookeeper", metavar="CONNECT", help="zookeeper.connect")
    add(
        "--with-zookeeper",
        action="store_true",
        help=f"also run a ZooKeeper, at the address of --zookeeper (default: {LOCAL_ZOOKEEPER}); needs Java",
    )
    add("--first-id", type=number, metavar="ID", help="broker.id of the first broker (default: 0)")
    add("--port", type=number, metavar="PORT", help="port of the first broker (default: 9092)")
    add("--no-start", action="store_true", help="only write the files, for systemd to start the brokers")
    add_timeout(made, START_S, "that a broker may take to start")
    return made


def common_properties(options: argparse.Namespace, known: Mapping[str, str], here: Path) -> dict[str, str]:
    """The first broker's properties: `known` ones, changed by the options. Raises ConfigException, PlanError, Refused.

    Relative directories are those of `here`.
    """
    properties = with_absolute_directories(apply_overrides(dict(known), options.override), here)
    if options.first_id is not None:
        properties.pop("node.id", None)
        properties["broker.id"] = str(options.first_id)
    if options.port is not None:
        properties = with_first_port(properties, options.port)
    if options.zookeeper is not None:
        properties["zookeeper.connect"] = options.zookeeper
    elif options.with_zookeeper:
        properties.setdefault("zookeeper.connect", LOCAL_ZOOKEEPER)
    if not properties.get("zookeeper.connect"):
        raise Refused(
            "which ZooKeeper? Name it with --zookeeper HOST:PORT or in the file of --config, or let --with-zookeeper "
            "start one"
        )
    return properties


def _count(text: str) -> int:
    count = number(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least one broker")
    return count
