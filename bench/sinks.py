"""Sinks: brokers that only listen to a controller. Each answers its requests, and counts what it was told.

`python -m bench.sinks COUNT` prints the ports of so many sinks as a line of JSON, and answers each line of its standard
input with one of JSON; it ends with its input. It is a process of its own: what sinks cost is not the controller's.

    told TOPIC          how many replicas of TOPIC have been told who leads, "" for all topics
    rounds              how many sinks have had an UpdateMetadata
    within BROKER       how many partitions were last told with BROKER in their ISR
    forget              count anew; the ISRs stay
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from bench.process import run_bench
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import decode_request_header, encode_response_header, response_header_is_flexible
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafka_zk.protocol.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

_SIZE = struct.Struct(">i")


class Sinks:
    """What all sinks were told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: Counter[str] = Counter()
        self._updated: set[int] = set()
        self._isrs: dict[tuple[str, int], list[int]] = {}
        self._questions: dict[str, Callable[[str], object]] = {
            "told": lambda topic: self._told[topic] if topic else self._told.total(),
            "rounds": lambda _: len(self._updated),
            "within": lambda broker: sum(int(broker) in isr for isr in self._isrs.values()),
            "forget": lambda _: self._forget(),
        }

    def open(self) -> int:
        """Begin to listen as one more sink; its port."""
        listener = socket.create_server(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()
        return port

    def answer(self, question: str) -> object:
        word, _, rest = question.partition(" ")
        with self._lock:
            return self._questions[word](rest)

    def _forget(self) -> None:
        self._told.clear()
        self._updated.clear()

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._serve, args=(connection, port), daemon=True).start()

    def _serve(self, connection: socket.socket, port: int) -> None:
        stream = connection.makefile("rb")
        while len(head := stream.read(_SIZE.size)) == _SIZE.size:
            frame = memoryview(stream.read(_SIZE.unpack(head)[0]))
            header = decode_request_header(frame)
            api = API_TABLE[header.api_key]
            request = api.request.decode(frame, header.api_version, header.body_position)
            with self._lock:
                response = self._take(request, port)
            flexible = response_header_is_flexible(header.api_key, header.api_version)
            answer = encode_response_header(header.correlation_id, flexible) + api.response.encode(
                response, header.api_version
            )
            connection.sendall(_SIZE.pack(len(answer)) + answer)

    def _take(self, request: Any, port: int) -> Any:
        if isinstance(request, LeaderAndIsrRequest):
            for topic in request.topic_states:
                self._told[topic.topic_name] += len(topic.partition_states)
                for state in topic.partition_states:
                    self._isrs[topic.topic_name, state.partition_index] = state.isr
            return LeaderAndIsrResponse()
        if isinstance(request, StopReplicaRequest):
            stopped = [
                StopReplicaPartitionError(topic_name=topic.topic_name, partition_index=state.partition_index)
                for topic in request.topic_states
                for state in topic.partition_states
            ]
            return StopReplicaResponse(partition_errors=stopped)
        assert isinstance(request, UpdateMetadataRequest), request
        self._updated.add(port)
        return UpdateMetadataResponse()


def main() -> None:
    sinks = Sinks()
    print(json.dumps([sinks.open() for _ in range(int(sys.argv[1]))]), flush=True)
    for line in sys.stdin:
        print(json.dumps(sinks.answer(line.rstrip("\n"))), flush=True)


if __name__ == "__main__":
    run_bench(main)
