"""Values decoded in a worker."""

from __future__ import annotations

from datetime import datetime

import pytest

from kafka_zk.spark.jobs.decoding import avro_decoder
from kafka_zk.spark.jobs.outcome import JobError

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}


def test_an_avro_value_that_cannot_be_decoded_is_named_by_its_place():
    decode = avro_decoder(SCHEMA, framing="plain", strict=True)
    assert decode(b"\x02", "t", 3, 17) == {"n": 1}
    assert decode(None, "t", 3, 17) is None
    named = "the value of topic t, partition 3, offset 17 does not match the Avro schema: 1 bytes too many"
    with pytest.raises(JobError, match=named):
        decode(b"\x02\x02", "t", 3, 17)


def test_or_it_is_null_where_the_job_says_so():
    assert avro_decoder(SCHEMA, framing="confluent", strict=False)(b"\x02", "t", 3, 17) is None


def test_what_has_no_type_of_its_own_in_spark_is_the_plain_number():
    decode = avro_decoder({"type": "int", "logicalType": "time-millis"}, framing="plain", strict=True)
    assert decode(b"\x0a", "t", 0, 0) == 5
    decode = avro_decoder({"type": "long", "logicalType": "local-timestamp-millis"}, framing="plain", strict=True)
    assert decode(b"\xd0\x0f", "t", 0, 0) == datetime(1970, 1, 1, 0, 0, 1)
