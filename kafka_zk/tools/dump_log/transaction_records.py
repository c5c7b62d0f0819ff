"""--transaction-log-decoder: the records of __transaction_state.

Role        Pure.
Source      Kafka 3.9 TransactionLog.formatRecordKeyAndValue.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.records import TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE
from kafka_zk.protocol.versioned import decode_versioned, payload_version
from kafka_zk.record.types import Record
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.transaction_log import illegal_state, in_order_of_hashes, partitions_of, state_name

_KEY_VERSION = 0
_DELETE = "<DELETE>"


class TransactionRecordParser:
    """Transactional ids and the states of their transactions."""

    def text(self, record: Record) -> tuple[str | None, str | None]:
        key, value = self.values(record)
        if "unknownVersion" in key:
            return f"unknown::version={key['unknownVersion']}", None
        return f"transaction_metadata::transactionalId={key['transactionalId']}", _value_text(value)

    def values(self, record: Record) -> tuple[Any, Any]:
        if record.key is None:
            raise JavaError(
                'Cannot invoke "java.nio.ByteBuffer.getShort()" because "buffer" is null',
                "java.lang.NullPointerException",
            )
        try:
            version = payload_version(record.key)
            if version != _KEY_VERSION:
                return {"unknownVersion": version}, None
            key = {"transactionalId": decode_versioned(TRANSACTION_LOG_KEY, record.key).transactional_id}
            return key, _DELETE if record.value is None else _value(record.value)
        except DecodeError as error:
            raise JavaError(str(error), "java.lang.RuntimeException") from error


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return (
        f"producerId:{value['producerId']},producerEpoch:{value['producerEpoch']},state={value['state']},"
        f"partitions=[{','.join(value['partitions'])}],"
        f"txnLastUpdateTimestamp={value['txnLastUpdateTimestamp']},txnTimeoutMs={value['txnTimeoutMs']}"
    )


def _value(data: bytes) -> dict[str, Any]:
    version = payload_version(data)
    if version not in TRANSACTION_LOG_VALUE.versions:
        raise illegal_state(f"Unknown version {version} from the transaction log message value")
    found = decode_versioned(TRANSACTION_LOG_VALUE, data)
    return {
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "state": state_name(found.transaction_status),
        "partitions": [str(each) for each in in_order_of_hashes(partitions_of(found))],
        "txnLastUpdateTimestamp": found.transaction_last_update_timestamp_ms,
        "txnTimeoutMs": found.transaction_timeout_ms,
    }
