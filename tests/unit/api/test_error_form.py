"""Error forms: the same bytes as Kafka's getErrorResponse, for every API and version."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.api import error_counts
from kafka_zk.api.all import load
from kafka_zk.api.error_form import NO_FORM, UNSERVED, Form, Text, error_response
from kafka_zk.protocol import tally
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.coding import Tally
from kafka_zk.protocol.errors import ErrorCode, NotController

GOLDEN = Path(__file__).parents[2] / "golden" / "error-forms"

# Kafka gathers their elements in hash maps.
WITHOUT_ORDER = {"Produce", "OffsetFetch", "WriteTxnMarkers", "AlterUserScramCredentials"}

# Where `error_counts` says that it differs.
COUNTED_DIFFERENTLY = {"LeaderAndIsr", "StopReplica", "OffsetFetch"}


SERVED = {served.key: served.errors for served in load()}
FORMS = SERVED | UNSERVED


def form_of(api_key: int) -> Form:
    return FORMS.get(api_key, NO_FORM)


def rows(name: str) -> dict[str, list[dict[str, Any]]]:
    """The golden rows by API name."""
    by_api: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (GOLDEN / name).read_text().splitlines():
        row = json.loads(line)
        by_api[row["api_name"]].append(row)
    return by_api


FORM_ROWS = rows("error-forms.jsonl")
COUNT_ROWS = rows("error-counts.jsonl")


def unordered(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((unordered(item) for item in value), key=repr)
    if hasattr(value, "__slots__"):
        return [(name, unordered(getattr(value, name))) for name in value.__slots__]
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.parametrize("api_name", FORM_ROWS)
def test_a_failed_request_is_answered_with_kafkas_bytes(api_name: str) -> None:
    for row in FORM_ROWS[api_name]:
        api, version = API_TABLE[row["api_key"]], row["version"]
        request = api.request.decode(bytes.fromhex(row["request"]), version)
        error = NotController("told so") if row["error"] == "NotController" else ValueError("boom")
        response = error_response(form_of(api.key), api.request, api.response, request, version, error)
        if row["response"] is None:
            assert response is None, row
            continue
        encoded = api.response.encode(response, version)
        if api_name in WITHOUT_ORDER:
            wanted = api.response.decode(bytes.fromhex(row["response"]), version)
            assert unordered(api.response.decode(encoded, version)) == unordered(wanted), row
        else:
            assert encoded.hex() == row["response"], (row["version"], row["error"])


def test_the_golden_forms_cover_every_api_with_a_form() -> None:
    golden = {row["api_key"] for rows in FORM_ROWS.values() for row in rows}
    # Kafka's own class refuses the vector of this one, which has operation UNKNOWN.
    assert {
        key for key, form in FORMS.items() if form.each or form.constants or form.text is not Text.NONE
    } - golden <= {29}


def test_what_is_served_says_itself_how_it_fails() -> None:
    assert not SERVED.keys() & UNSERVED.keys()


def test_a_bug_of_ours_tells_clients_nothing_of_itself() -> None:
    api = API_TABLE[37]
    request = api.request.value_class(topics=[api.request.class_of("CreatePartitionsTopic")(name="t", count=1)])
    response: Any = error_response(form_of(37), api.request, api.response, request, 3, ValueError("secret"))
    (result,) = response.results
    assert (result.error_code, result.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)


@pytest.mark.parametrize("twin", sorted({tally.Tally, Tally}, key=str), ids=lambda twin: twin.__module__)
@pytest.mark.parametrize("api_name", sorted(set(COUNT_ROWS) - COUNTED_DIFFERENTLY))
def test_the_codes_in_a_response_are_counted_as_kafka_counts_them(
    api_name: str, twin: type[Tally], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_counts, "Tally", twin)
    known = {int(code) for code in ErrorCode}
    for row in COUNT_ROWS[api_name]:
        response = API_TABLE[row["api_key"]].response
        counts: defaultdict[int, int] = defaultdict(int)
        error_counts.error_tally(form_of(row["api_key"]), response, row["version"]).count(
            response.decode(bytes.fromhex(row["response"]), row["version"]), counts
        )
        found: defaultdict[str, int] = defaultdict(int)
        for code, count in counts.items():
            found[str(code if code in known else -1)] += count
        assert found == row["counts"], row["version"]
