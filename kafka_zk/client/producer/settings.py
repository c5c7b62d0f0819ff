"""A producer's configuration as plain values, validated as a whole.

Role        Pure but for its warnings.
Source      Kafka 3.9 ProducerConfig.postProcessParsedConfig, KafkaProducer.configureDeliveryTimeout.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.network.backoff import ExponentialBackoff, backoff_of
from kafka_zk.config.errors import ConfigException
from kafka_zk.record.compression import Codec

MAX_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
IDEMPOTENT_IN_FLIGHT_MAX: Final = 5

log = logging.getLogger("org.apache.kafka.clients.producer.ProducerConfig")


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """Times in milliseconds, sizes in bytes; `acks` is -1 for all."""

    acks: int
    batch_size_bytes: int
    buffer_bytes: int
    codec: Codec
    level: int | None
    delivery_timeout_ms: int
    idempotent: bool
    linger_ms: int
    max_block_ms: int
    max_in_flight: int
    max_request_bytes: int
    request_timeout_ms: int
    retries: int
    retry_backoff: ExponentialBackoff
    adaptive_partitioning: bool
    availability_timeout_ms: int
    ignore_keys: bool
    transactional_id: str | None
    transaction_timeout_ms: int


def producer_settings(config: ClientConfig) -> ProducerSettings:
    """Raises ConfigException where values contradict each other."""
    idempotent = _idempotent(config)
    if not idempotent and config.given("transactional.id") is not None:
        raise ConfigException("Cannot set a transactional.id without also enabling idempotence.")
    codec = Codec[config.text("compression.type").upper()]
    level_key = f"compression.{codec.name.lower()}.level"
    return ProducerSettings(
        acks=_acks(config),
        batch_size_bytes=config.integer("batch.size"),
        buffer_bytes=config.integer("buffer.memory"),
        codec=codec,
        level=config.integer(level_key) if codec in (Codec.GZIP, Codec.LZ4, Codec.ZSTD) else None,
        delivery_timeout_ms=_delivery_timeout_ms(config),
        idempotent=idempotent,
        linger_ms=config.integer("linger.ms"),
        max_block_ms=config.integer("max.block.ms"),
        max_in_flight=config.integer(MAX_IN_FLIGHT),
        max_request_bytes=config.integer("max.request.size"),
        request_timeout_ms=config.integer("request.timeout.ms"),
        retries=config.integer("retries"),
        retry_backoff=backoff_of(config, "retry.backoff"),
        adaptive_partitioning=config.boolean("partitioner.adaptive.partitioning.enable"),
        availability_timeout_ms=config.integer("partitioner.availability.timeout.ms"),
        ignore_keys=config.boolean("partitioner.ignore.keys"),
        transactional_id=config.text("transactional.id") or None,
        transaction_timeout_ms=config.integer("transaction.timeout.ms"),
    )


def _acks(config: ClientConfig) -> int:
    text = config.text("acks")
    return -1 if text == "all" else int(text)


def _idempotent(config: ClientConfig) -> bool:
    """Whether the producer is idempotent: it is by default, unless other given keys forbid it."""
    wanted = config.boolean("enable.idempotence")
    insisted = wanted and config.given("enable.idempotence") is not None
    if wanted and config.integer("retries") == 0:
        if insisted:
            raise ConfigException("Must set retries to non-zero when using the idempotent producer.")
        log.info("Idempotence will be disabled because retries is set to 0.")
        return False
    if wanted and _acks(config) != -1:
        if insisted:
            raise ConfigException("Must set acks to all in order to use the idempotent producer. "
                                  "Otherwise we cannot guarantee idempotence.")  # fmt: skip
        log.info("Idempotence will be disabled because acks is set to %s, not set to 'all'.", config.text("acks"))
        return False
    if wanted and config.integer(MAX_IN_FLIGHT) > IDEMPOTENT_IN_FLIGHT_MAX:
        if insisted:
            raise ConfigException(f"Must set {MAX_IN_FLIGHT} to at most 5 to use the idempotent producer.")
        log.warning("Idempotence will be disabled because %s is set to %s, which is greater than 5. "
                    "Please note that in v4.0.0 and onward, this will become an error.",
                    MAX_IN_FLIGHT, config.integer(MAX_IN_FLIGHT))  # fmt: skip
        return False
    return wanted


def _delivery_timeout_ms(config: ClientConfig) -> int:
    """At least linger plus one request; a smaller default is raised to that, a smaller configured value refused."""
    given_ms = config.integer("delivery.timeout.ms")
    least_ms = min(config.integer("linger.ms") + config.integer("request.timeout.ms"), 2**31 - 1)
    if given_ms >= least_ms:
        return given_ms
    if config.given("delivery.timeout.ms") is not None:
        raise ConfigException("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")
    log.warning("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms. "
                "Setting it to %s.", least_ms)  # fmt: skip
    return least_ms
