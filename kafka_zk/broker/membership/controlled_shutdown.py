"""Controlled shutdown: the controller moves leaders away before this broker stops.

Role        Acts through the channel to the controller. Never prevents the shutdown: after its attempts it gives up.
Source      KafkaServer.controlledShutdown; KAFKA-9189 (bounded even without an answer).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import gevent

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse

log = logging.getLogger("kafka.server.KafkaServer")


def leave_cluster(
    controller: ControllerChannel, config: BrokerConfig, *, broker_id: int, broker_epoch: Callable[[], int]
) -> bool:
    """Blocks. Ask the controller to move this broker's leaders; returns whether all were moved.

    `broker_epoch` is read before each attempt: a new session changes it.
    """
    if not config.controlled_shutdown_enable:
        return True
    log.info("[KafkaServer id=%d] Starting controlled shutdown", broker_id)
    retries = config.controlled_shutdown_max_retries
    for attempt in range(1, retries + 1):
        if _ask(controller, config, broker_id, broker_epoch()):
            log.info("[KafkaServer id=%d] Controlled shutdown request returned successfully", broker_id)
            return True
        if attempt < retries:
            log.info("[KafkaServer id=%d] Retrying controlled shutdown", broker_id)
            gevent.sleep(config.controlled_shutdown_retry_backoff_ms / 1000)
    log.warning("[KafkaServer id=%d] Proceeding to do an unclean shutdown as all the controlled shutdown attempts "
                "failed", broker_id)  # fmt: skip
    return False


def _ask(controller: ControllerChannel, config: BrokerConfig, broker_id: int, broker_epoch: int) -> bool:
    if not controller.knows_controller:
        # The controller may be known after the next pause. A request would wait for it longer than an operator does.
        log.info("[KafkaServer id=%d] No controller is available for a controlled shutdown", broker_id)
        return False
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    timeout_ms = config.controller_socket_timeout_ms
    try:
        response: ControlledShutdownResponse = controller.send(request, timeout_ms=timeout_ms).result()
    except (NetworkError, BrokerError) as error:
        log.warning("[KafkaServer id=%d] Error during controlled shutdown: %s", broker_id, error)
        return False
    if response.error_code == ErrorCode.NONE and not response.remaining_partitions:
        return True
    log.info(
        "[KafkaServer id=%d] %d remaining partitions (%s), error code %d from controller",
        broker_id,
        len(response.remaining_partitions),
        ", ".join(f"{p.topic_name}-{p.partition_index}" for p in response.remaining_partitions[:10]),
        response.error_code,
    )
    return False
