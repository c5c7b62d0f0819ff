"""Error codes and their classes."""

from __future__ import annotations

import json

import pytest

from kafka_zk.protocol import errors
from kafka_zk.protocol.errors import BrokerError, ErrorCode

from .golden import WIRE

KAFKA = json.loads((WIRE / "errors.json").read_text(encoding="utf-8"))


def test_codes_names_texts_and_retriability_are_kafkas():
    ours = [
        {
            "code": int(code),
            "name": code.name,
            "retriable": errors.is_retriable(code),
            "message": errors.message_of(code),
        }
        for code in ErrorCode
    ]
    assert ours == KAFKA


def test_a_message_that_quotes_too_much_keeps_its_beginning_and_its_end():
    error = errors.InvalidTopicException("Topic 'ä" + "ä" * 1_000_000 + "' is invalid")
    assert len(str(error)) < errors.LONGEST_MESSAGE
    assert (str(error)[:7], str(error)[-11:]) == ("Topic '", "' is invalid"[1:])
    assert "(1000020 characters)" in str(error)
    assert str(BrokerError("x" * errors.LONGEST_MESSAGE)) == "x" * errors.LONGEST_MESSAGE


def test_every_code_but_none_has_a_class_named_after_it():
    for code in ErrorCode:
        if code is ErrorCode.NONE:
            continue
        error = errors.error_class_for(code)()
        assert (error.code, str(error)) == (code, errors.message_of(code))
        assert getattr(errors, type(error).__name__) is type(error)
    assert errors.error_class_for(3) is errors.UnknownTopicOrPartition
    with pytest.raises(ValueError, match="NONE"):
        errors.error_class_for(0)


def test_a_code_newer_than_ours_is_unknown():
    assert errors.error_class_for(999) is errors.UnknownServerError


def test_an_error_may_have_its_own_text():
    assert str(errors.InvalidConfig("Unknown topic config name: x")) == "Unknown topic config name: x"
    assert str(errors.InvalidConfig("")) == ""


def test_what_is_not_a_broker_error_is_an_unknown_server_error():
    assert errors.error_code_for(errors.NotController()) is ErrorCode.NOT_CONTROLLER
    assert errors.error_code_for(KeyError("x")) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert errors.error_code_for(BrokerError()) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_record_errors_travel_with_the_two_codes_that_have_them():
    error = errors.InvalidRecord("bad", record_errors=[(3, "no key")])
    assert (error.record_errors, str(error)) == ([(3, "no key")], "bad")
    assert errors.InvalidTimestamp().record_errors == []
    assert not hasattr(errors.CorruptMessage(), "record_errors")


def test_a_decode_error_is_an_invalid_request():
    assert errors.DecodeError("x").code is ErrorCode.INVALID_REQUEST
    assert isinstance(errors.DecodeError("x"), errors.InvalidRequest)
    assert not issubclass(errors.EncodeError, BrokerError)
