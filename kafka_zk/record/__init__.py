"""Record batches: their bytes, codecs, validation, and the records inside."""

from kafka_zk.record.batch import Batch, BatchHeader, batches, read_header
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.record import decode_records
from kafka_zk.record.types import Header, Record
from kafka_zk.record.walking import WALKER

__all__ = [
    "WALKER",
    "Batch",
    "BatchHeader",
    "Codec",
    "Header",
    "Record",
    "batches",
    "build_batch",
    "decode_records",
    "read_header",
]
