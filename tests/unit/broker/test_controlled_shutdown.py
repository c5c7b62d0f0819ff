"""Leaving the cluster in order, also where the ZooKeeper session is replaced meanwhile."""

from __future__ import annotations

from typing import Any, cast

from kafka_zk.broker.membership.controlled_shutdown import leave_cluster
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse

CONFIG = BrokerConfig.from_properties({"zookeeper.connect": "z:1", "controlled.shutdown.retry.backoff.ms": "0"})


class Controller:
    """Answers those who name the epoch of the present registration; another one begins with the first question."""

    knows_controller = True

    def __init__(self) -> None:
        self.broker_epoch = 77
        self.asked: list[int] = []

    def send(self, request: ControlledShutdownRequest, *, timeout_ms: int) -> Pending[Any]:
        if not self.asked:
            self.broker_epoch = 99
        self.asked.append(request.broker_epoch)
        is_stale = request.broker_epoch != self.broker_epoch
        return completed(
            ControlledShutdownResponse(error_code=ErrorCode.STALE_BROKER_EPOCH if is_stale else ErrorCode.NONE)
        )


def test_a_broker_that_is_registered_anew_while_it_leaves_asks_as_the_one_it_is_now() -> None:
    controller = Controller()
    asked_as = cast(ControllerChannel, controller)
    assert leave_cluster(asked_as, CONFIG, broker_id=1, broker_epoch=lambda: controller.broker_epoch)
    assert controller.asked == [77, 99]
