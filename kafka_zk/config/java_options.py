"""System properties of Java that operators set in KAFKA_OPTS: -Dname=value.

Role        Pure. Security has a few: where the JAAS file is, whether ZooKeeper's clients log in.
Source      kafka-run-class.sh, which hands KAFKA_OPTS to the JVM.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

_DEFINITION = "-D"


def system_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """What KAFKA_OPTS defines; of several definitions the last counts. A text that no shell could split has none."""
    try:
        words = shlex.split(environ.get("KAFKA_OPTS", ""))
    except ValueError:
        return {}
    definitions = (word[len(_DEFINITION) :].partition("=") for word in words if word.startswith(_DEFINITION))
    return {name: value for name, _, value in definitions}
