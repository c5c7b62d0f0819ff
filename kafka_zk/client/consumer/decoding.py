"""Chooses the record decoder: the compiled twin if it was built."""

from __future__ import annotations

try:
    from kafka_zk.client.consumer._record_decoding import decode_batch
except ImportError:
    from kafka_zk.client.consumer.record_decoding import decode_batch

__all__ = ["decode_batch"]
