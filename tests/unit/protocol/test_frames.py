"""Frames captured between Apache's, librdkafka's and kafka-python's clients and Apache brokers."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.protocol.header import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    response_header_is_flexible,
)

from .golden import API_TABLE, CAPTURES, as_kafka_json, rows, without_records


def label(row: dict[str, Any]) -> str:
    return f"seq {row['seq']}: {row['api_name']} v{row['api_version']}"


# librdkafka 2.16 writes a null topics array of Metadata v12 as four bytes; Apache reads one and leaves three over.
BYTES_AFTER_THE_BODY = {("librdkafka-and-kafka-python", "Metadata", 12)}


@pytest.mark.parametrize("capture", CAPTURES)
def test_captured_requests_decode_to_kafkas_json_and_back(capture: str):
    for row in rows(capture):
        frame = bytearray.fromhex(row["request_hex"])
        header = decode_request_header(frame)
        assert (header.api_key, header.api_version) == (row["api_key"], row["api_version"]), label(row)
        assert (header.correlation_id, header.client_id) == (row["correlation_id"], row["client_id"] or ""), label(row)
        message = API_TABLE[header.api_key].request
        value, position = message.decoder(header.api_version)(frame, header.body_position)
        assert as_kafka_json(message.name, value, header.api_version) == without_records(row["request"]), label(row)
        written = encode_request_header(row["api_key"], row["api_version"], row["correlation_id"], row["client_id"])
        written += message.encode(value, header.api_version)
        if position != len(frame):
            assert (capture, row["api_name"], row["api_version"]) in BYTES_AFTER_THE_BODY, label(row)
        assert written == frame[:position], label(row)


@pytest.mark.parametrize("capture", CAPTURES)
def test_captured_responses_decode_to_kafkas_json_and_back(capture: str):
    for row in rows(capture):
        if row["response_hex"] is None:
            continue
        frame = bytes.fromhex(row["response_hex"])
        version = row["api_version"]
        flexible = response_header_is_flexible(row["api_key"], version)
        assert flexible == (row["response_header_version"] == 1), label(row)
        correlation_id, position = decode_response_header(frame, flexible)
        message = API_TABLE[row["api_key"]].response
        value, position = message.decoder(version)(frame, position)
        assert position == len(frame), label(row)
        assert as_kafka_json(message.name, value, version) == without_records(row["response"]), label(row)
        assert encode_response_header(correlation_id, flexible) + message.encode(value, version) == frame, label(row)


def test_the_api_table_is_what_an_apache_broker_advertises():
    answers = [row for row in rows("java-clients-and-brokers") if row["api_name"] == "ApiVersions"]
    advertised = {(api["apiKey"], api["minVersion"], api["maxVersion"]) for api in answers[0]["response"]["apiKeys"]}
    assert advertised == {(api.key, api.min_version, api.max_version) for api in API_TABLE.values()}
