"""The request log of one side, as what of it must be equal."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_zk.protocol.api_table import API_TABLE
from tests.interop.replay.scenario import BY_KIND, UNORDERED, Exchange, World, normalise
from tests.support.allowed import allowed
from tests.support.raw_client import RawClient

_BROKER_LOGGER = 8
_COMPLETED = re.compile(r"\] (DEBUG|INFO) Completed request:(\{.*\}) \(kafka\.request\.logger\)$", re.M)
_OWN_CLIENT = "switches the log on"
_NOT_REPLAYED = (_OWN_CLIENT, "raw", "0", "AddPartitionsManager-client-0", "broker-0-txn-marker-sender")
"""Clients that ask as often as it takes until something is so, and brokers."""
LEFT_OUT = {
    **dict.fromkeys(
        (
            "connection",
            "totalTimeMs",
            "requestQueueTimeMs",
            "localTimeMs",
            "remoteTimeMs",
            "responseQueueTimeMs",
            "sendTimeMs",
            "throttleTimeMs",
        ),
        allowed("ids-and-times"),
    ),
    **dict.fromkeys(("temporaryMemoryBytes", "messageConversionsTime"), allowed("request-log-lines")),
}
HIDDEN_HERE = dict.fromkeys(("salt", "saltedPassword"), allowed("request-log-secrets"))
WITHOUT_A_LINE = {"ENVELOPE": allowed("request-log-closed")}
"""Requests that end their connection."""
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_NO_ID = "A" * 22


def switch_on(bootstrap: str) -> None:
    """From the next request on, each has a line."""
    message = API_TABLE[44].request
    config = message.class_of("AlterableConfig")(name="kafka.request.logger", config_operation=0, value="DEBUG")
    resource = message.class_of("AlterConfigsResource")(
        resource_type=_BROKER_LOGGER, resource_name="0", configs=[config]
    )
    with RawClient(bootstrap, _OWN_CLIENT) as client:
        answer = client.send(message, message.value_class(resources=[resource]), 1)
    assert [response.error_code for response in answer.responses] == [0]


def comparable(log: Path, world: World, exchanges: Sequence[Exchange]) -> Counter[str]:
    """How often there is each line about the clients of a scenario: without times, ids and ports.

    What an exchange ignores of its answer is left out of all answers of its API.
    """
    kinds, unordered = {_shown(name) for name in BY_KIND}, {_shown(name) for name in UNORDERED}
    ignored: defaultdict[int, set[str]] = defaultdict(set)
    for exchange in exchanges:
        assert exchange.message.api_key is not None
        ignored[exchange.message.api_key] |= {_shown(name) for name in exchange.ignore}
        unordered |= {_shown(name) for name in exchange.unordered}
        kinds |= {_shown(name) for name in exchange.by_kind}
    lines: Counter[str] = Counter()
    for level, text in _COMPLETED.findall(log.read_text()):
        line = {"level": level} | {name: value for name, value in json.loads(text).items() if name not in LEFT_OUT}
        header = line["requestHeader"]
        if header["clientId"] in _NOT_REPLAYED or header["requestApiKeyName"] in WITHOUT_A_LINE:
            continue
        line = _without_ids(world.without_own(line))
        line["response"] = normalise(
            line["response"], {name: [] for name in ignored[header["requestApiKey"]]}, unordered, by_kind=kinds
        )
        line = normalise(line, {name: [] for name in HIDDEN_HERE}, unordered, by_kind=kinds)
        lines[json.dumps(line, sort_keys=True)] += 1
    return lines


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_ids(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    return "<uuid>" if isinstance(value, str) and _ID.fullmatch(value) and value != _NO_ID else value


def _shown(name: str) -> str:
    """A field of ours as it is called in JSON."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)
