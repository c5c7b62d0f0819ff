"""A broker that only listens on a real socket, with a real ZooKeeper session and our controller beside it.

It hosts nothing. Besides what controllers send it answers what other brokers ask a controller.
"""

from __future__ import annotations

import struct
from typing import Any

from gevent.server import StreamServer

from kafka_zk.clock import SystemClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller import events
from kafka_zk.controller.loop import KafkaController
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import decode_request_header, encode_response_header, response_header_is_flexible
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from kafka_zk.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_zk.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafka_zk.zk.registration import register_broker
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import BrokerRegistration
from tests.simulation.fake_cluster import FakeBroker


class ListeningBroker:
    """Registered in ZooKeeper, answering control requests, competing to be the controller."""

    def __init__(self, broker_id: int, zk: ZkClient) -> None:
        self.zk = zk
        self.told = FakeBroker(broker_id, is_up=True)
        self.headers: list[tuple[int, int, str]] = []
        """(api key, version, client id) of every request."""
        self._server = StreamServer(("127.0.0.1", 0), self._serve)
        self._server.start()
        self.controller = KafkaController(
            settings=ControllerSettings(broker_id, "PLAINTEXT", auto_leader_rebalance_enable=False),
            zk=zk,
            clock=SystemClock(),
            metrics=MetricsRegistry(SystemClock()),
            register_broker=self._register,
        )

    def start(self) -> ListeningBroker:
        self._register(self.zk.generation)
        self.controller.startup()
        return self

    def stop(self) -> None:
        self.controller.shutdown()
        self._server.stop()

    def _register(self, generation: int) -> None:
        endpoint = EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", self._server.server_port)
        registration = BrokerRegistration(self.told.broker_id, (endpoint,))
        self.told.epoch = register_broker(self.zk, registration, generation=generation)

    def _serve(self, connection: Any, address: object) -> None:
        stream = connection.makefile("rb")
        while size := stream.read(4):
            frame = stream.read(struct.unpack(">i", size)[0])
            header = decode_request_header(frame)
            api = API_TABLE[header.api_key]
            request = api.request.decode(frame, header.api_version, header.body_position)
            self.headers.append((header.api_key, header.api_version, header.client_id))
            response = self._answer(header.api_key, header.api_version, request)
            flexible = response_header_is_flexible(header.api_key, header.api_version)
            answer = encode_response_header(header.correlation_id, flexible)
            answer += api.response.encode(response, header.api_version)
            connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, api_key: int, api_version: int, request: Any) -> Any:
        match api_key:
            case 7:
                self.controller.submit(events.ControlledShutdown(request.broker_id, request.broker_epoch)).result()
                return ControlledShutdownResponse()
            case 18:
                served = [API_TABLE[key].request for key in (4, 5, 6, 7, 18, 56, 67)]
                return ApiVersionsResponse(
                    api_keys=[
                        ApiVersion(api_key=api.api_key, min_version=api.min_version, max_version=api.max_version)
                        for api in served
                    ]
                )
            case 56:
                return self.controller.submit(events.AlterPartitionReceived(request, api_version)).result()
            case 67:
                event = events.AllocateProducerIds(request.broker_id, request.broker_epoch)
                first, count = self.controller.submit(event).result()
                return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=count)
        return self.told.receive(request)
