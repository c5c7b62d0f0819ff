"""Who this broker is to ZooKeeper, from its configuration and KAFKA_OPTS.

Role        Reads the configuration, the environment, the JAAS file and the stores.
Source      KafkaServer.zkClientConfigFromKafkaConfig, KafkaZkClient.createZkClient.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.zk.identity import ZkIdentity, check_somebody, identity
from kafka_zk.zk.tls_settings import ENABLE


def broker_identity(config: BrokerConfig, environ: Mapping[str, str] = os.environ) -> ZkIdentity:
    """Blocks for files. Raises ConfigException, also where zookeeper.set.acl needs an identity and there is none."""
    values = dict(config.originals)
    if config.zookeeper_ssl_client_enable:
        values[ENABLE] = "true"
    found = identity(values, environ)
    if config.zookeeper_set_acl:
        check_somebody(found, environ)
    return found
