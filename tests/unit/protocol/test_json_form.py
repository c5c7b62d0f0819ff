"""Messages as JSON: what Kafka's JsonConverter wrote of captured frames and of its own vectors."""

from __future__ import annotations

import json
import math
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import decode_request_header, decode_response_header, response_header_is_flexible
from kafka_zk.protocol.json_form import JsonForm
from kafka_zk.protocol.messages.fetch import FETCH_RESPONSE, FetchableTopicResponse, FetchResponse, PartitionData
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic

from .golden import CAPTURES, rows


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_captured_frame_is_shown_as_kafka_shows_it(capture: str):
    shown = 0
    for row in rows(capture):
        api, version = API_TABLE[row["api_key"]], row["api_version"]
        frame = bytes.fromhex(row["request_hex"])
        request = api.request.decode(frame, version, decode_request_header(frame).body_position)
        assert text_of(api.request, request, version) == row["request"]
        shown += 1
        if row["response_hex"] is not None:
            frame = bytes.fromhex(row["response_hex"])
            _, position = decode_response_header(frame, response_header_is_flexible(row["api_key"], version))
            response = api.response.decode(frame, version, position)
            assert text_of(api.response, response, version) == row["response"]
    assert shown > 10


def text_of(message: Any, value: Any, version: int) -> Any:
    return json.loads(JsonForm(message.struct).text(value, version))


def test_it_is_written_without_spaces_in_the_order_of_the_declaration():
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=UUID(int=1), name='"é"\n')])
    assert JsonForm(METADATA_REQUEST.struct).text(request, 12) == (
        '{"topics":[{"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","name":"\\"é\\"\\n"}],'
        '"allowAutoTopicCreation":true,"includeTopicAuthorizedOperations":false}'
    )
    assert JsonForm(METADATA_REQUEST.struct).text(MetadataRequest(topics=None), 1) == '{"topics":null}'
    assert JsonForm(METADATA_REQUEST.struct).text(MetadataRequest(topics=[]), 1) == '{"topics":[]}'


@pytest.mark.parametrize(("value", "shown"), [(0.5, 0.5), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_a_number_that_is_none_in_json_is_a_text(value: float, shown: Any):
    quotas = API_TABLE[49].request
    op = quotas.class_of("OpData")(key="producer_byte_rate", value=value)
    request = quotas.value_class(entries=[quotas.class_of("RequestEntryData")(ops=[op])])
    assert text_of(quotas, request, 0)["entries"][0]["ops"][0]["value"] == shown
    op.value = math.nan
    assert text_of(quotas, request, 0)["entries"][0]["ops"][0]["value"] == "NaN"


class Slice:
    size_bytes = 900


def test_records_are_shown_by_their_size():
    def records_shown(records: Any) -> dict[str, Any]:
        data = PartitionData(partition_index=0, records=records)
        response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])
        (topic,) = text_of(FETCH_RESPONSE, response, 4)["responses"]
        return {name: value for name, value in topic["partitions"][0].items() if name.startswith("records")}

    assert records_shown(b"12345") == {"recordsSizeInBytes": 5}
    assert records_shown([b"12345", Slice(), memoryview(b"6")]) == {"recordsSizeInBytes": 906}
    assert records_shown(None) == {"records": None}


def test_a_hidden_field_shows_nothing_of_its_value():
    request = MetadataRequest(topics=[MetadataRequestTopic(name="secret")])
    text = JsonForm(METADATA_REQUEST.struct, ("name",)).text(request, 1)
    assert text == '{"topics":[{"name":"[hidden]"}]}'


def test_others_have_their_turn_between_the_elements_of_arrays():
    pauses = []
    request = MetadataRequest(topics=[MetadataRequestTopic(name=str(number)) for number in range(5)])
    JsonForm(METADATA_REQUEST.struct).text(request, 1, lambda: pauses.append(1))
    assert len(pauses) == 5
