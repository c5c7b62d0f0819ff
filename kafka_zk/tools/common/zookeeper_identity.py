"""Who a tool is to ZooKeeper: --zk-tls-config-file, and the system properties in KAFKA_OPTS.

Role        Reads the file, the JAAS file and the stores.
Source      ZkSecurityMigrator.createZkClientConfigFromFile, which ConfigCommand uses, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_zk.config.properties import read_file
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.zk.identity import ZkIdentity, identity


def tool_identity(tls_config_file: str | None, environ: Mapping[str, str] = os.environ) -> ZkIdentity:
    """Blocks for files. Raises ConfigException; JavaError for a file that is not there."""
    if tls_config_file is None:
        return identity({}, environ)
    try:
        values = read_file(tls_config_file)
    except OSError:
        raise JavaError(tls_config_file, "java.nio.file.NoSuchFileException") from None
    return identity(values, environ)
