"""The Prometheus endpoint as configured: its address, its TLS, and who may read it.

Role        Reads the files that the keys `kafka_zk.metrics.*` name; `metrics.http` serves.
Invariants  A password that would be sent in the clear is warned of. No message has a password.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.support import METRICS
from kafka_zk.metrics.access import BasicAccess

if TYPE_CHECKING:
    from kafka_zk.config.broker import BrokerConfig
    from kafka_zk.metrics.http import MetricsServer
    from kafka_zk.metrics.registry import MetricsRegistry

_BASIC = f"{METRICS}basic."
_LOOPBACK = ("localhost", "::1", "[::1]")

log = logging.getLogger("kafka.server.KafkaServer")


def metrics_server(config: BrokerConfig, registry: MetricsRegistry, port: int) -> MetricsServer:
    """Blocks on files. The server, not started yet. Raises ConfigException."""
    # Imported late: most brokers have no such port and need no HTTP server.
    from kafka_zk.metrics.http import MetricsServer

    tls, access = _tls(config), _access(config)
    host = config.kafka_zk_metrics_host
    if access is not None and tls is None and not (host in _LOOPBACK or host.startswith("127.")):
        log.warning(
            "[KafkaServer id=%d] The password of the metrics endpoint travels in the clear: %sssl.keystore.location is "
            "not set",
            config.broker_id,
            METRICS,
        )
    return MetricsServer(registry, host=host, port=port, tls=tls, access=access)


def _tls(config: BrokerConfig) -> ssl.SSLContext | None:
    from kafka_zk.tls.contexts import server_context
    from kafka_zk.tls.settings import TlsSettings

    given = [name for name in config.originals if name.startswith(f"{METRICS}ssl.")]
    if not given:
        return None
    settings = TlsSettings.of(config.own_values, f"{METRICS}ssl.")
    if settings.key is None:
        raise ConfigException(f"{given[0]} is set, but neither {METRICS}ssl.keystore.location nor .key")
    return server_context(settings)


def _access(config: BrokerConfig) -> BasicAccess | None:
    username, password, file = (config.own_values[_BASIC + name] for name in ("username", "password", "password.file"))
    if username is None and password is None and file is None:
        return None
    if not username or ":" in str(username):
        raise ConfigException(f"{_BASIC}username must be a name without a colon")
    if (password is None) == (file is None):
        raise ConfigException(f"One of {_BASIC}password and {_BASIC}password.file must be set")
    if file is not None:
        try:
            password = Path(str(file)).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigException(f"{_BASIC}password.file={file} cannot be read: {type(error).__name__}") from None
    if not password:
        raise ConfigException(f"The password of {_BASIC}username is empty")
    return BasicAccess(str(username), str(password))
