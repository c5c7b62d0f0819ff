"""Applies the broker configs in ZooKeeper to the running broker.

Role        Acts: the one place that changes the broker's configuration. The new one is
            applied as a whole; then each part that depends on it is called with the old and the new one.
Invariants  A config that cannot be applied changes nothing; the log says why.
            Changes are applied one after the other, also when two notifications come close together.
Source      DynamicBrokerConfig.updateBrokerConfig, updateDefaultConfig, updateCurrentConfig, maybeReEncodePasswords.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping

from gevent.lock import RLock

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.dynamic import check_changes, is_password, take_over, to_store, usable
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.password_encoder import PasswordEncoder
from kafka_zk.config.reconfiguration import changed_keys, check_step, nested
from kafka_zk.zk.cluster import controller
from kafka_zk.zk.entity_configs import (
    announce_config_change,
    entity_config,
    write_entity_config,
    write_entity_config_before_any_broker,
)
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entity_path
from kafka_zk.zk.znodes.properties_order import in_properties_order

log = logging.getLogger("kafka.server.DynamicBrokerConfig")

Reconfigure = Callable[[BrokerConfig, BrokerConfig], None]
"""Called with the configuration that was and the one that is; may block."""


class BrokerConfigs:
    """The configuration of this broker and of all brokers, as ZooKeeper has it. `config` is changed in place."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self._encoder = PasswordEncoder.of(config, os.urandom)
        self._parts: list[Reconfigure] = []
        self._checks: list[Reconfigure] = []
        self._on_untouched: list[Callable[[BrokerConfig], None]] = []
        self._turn = RLock()

    def tell(self, part: Reconfigure) -> None:
        """From now on call `part` after each change, in the order of these calls."""
        self._parts.append(part)

    def ask(self, check: Reconfigure) -> None:
        """From now on call `check` before each change; it raises ConfigException for what its part cannot follow."""
        self._checks.append(check)

    def before_write(self, reload: Callable[[BrokerConfig], None]) -> None:
        """From now on call `reload` with what this broker's configuration becomes, before that is written."""
        self._on_untouched.append(reload)

    def load(self, zk: ZkClient, broker_id: int) -> None:
        """Blocks. Apply the stored configs at startup, without notifying parts."""
        default = entity_config(zk, entity_path(("brokers", None)))
        own = self._encoded_anew(zk, entity_path(("brokers", str(broker_id))))
        taken, complaints = take_over(self.config, default=default, broker=own, encoder=self._encoder)
        self.config.become(taken)
        for complaint in complaints:
            log.error("%s", complaint)

    def changed(self, stored: Mapping[str, str], *, for_all_brokers: bool) -> None:
        """Blocks. Apply what /config/brokers/<default>, or this broker's own znode, holds now."""
        texts, complaints = usable(stored, for_all_brokers=for_all_brokers, encoder=self._encoder)
        for complaint in complaints:
            log.error("%s", complaint)
        with self._turn:
            try:
                now = self._with(texts, for_all_brokers=for_all_brokers)
                self._check_step(now)
            except ConfigException as error:
                whose = "Cluster default configs" if for_all_brokers else f"Per-broker configs of {self.config.node_id}"
                log.error("%s could not be applied: %s: %s", whose, ", ".join(sorted(texts)), error)
                return
            before = self.config.copy()
            self.config.become(now)
            changed = changed_keys(before, now)
            if changed:
                log.info("Reconfiguring, updated configs: %s", ", ".join(sorted(changed)))
            for part in self._parts if changed else ():
                try:
                    part(before, self.config)
                except Exception:
                    # A bug of ours in one part must not keep the value from the others.
                    log.exception("Part of the broker failed to apply its new configuration")

    def check(self, texts: Mapping[str, str], *, for_all_brokers: bool) -> None:
        """Blocks. Raise ConfigException, with Kafka's words, unless these may be all values of that layer."""
        # Of several that are wrong, Kafka names the first of its own order.
        check_changes(in_properties_order(texts), for_all_brokers=for_all_brokers)
        self._check_step(self._with(texts, for_all_brokers=for_all_brokers))

    def reload(self, texts: Mapping[str, str]) -> None:
        """Blocks. `texts` are about to be written for this broker: what it has read from files may be read again.

        Raises ConfigException where that fails.
        """
        now = self._with(texts, for_all_brokers=False)
        for reload in self._on_untouched:
            reload(now)

    def readable(self, stored: Mapping[str, str], *, for_all_brokers: bool) -> dict[str, str]:
        """The usable ones of the `stored` values, with passwords decoded."""
        return usable(stored, for_all_brokers=for_all_brokers, encoder=self._encoder)[0]

    def to_store(self, texts: Mapping[str, str], *, for_all_brokers: bool) -> dict[str, str]:
        """`texts` as ZooKeeper shall hold them. Raises ConfigException for passwords that cannot be encoded."""
        return to_store(texts, for_all_brokers=for_all_brokers, encoder=self._encoder)

    def _check_step(self, now: BrokerConfig) -> None:
        """Blocks. Raises ConfigException."""
        if changed_keys(self.config, now):
            for check in self._checks:
                try:
                    check(self.config, now)
                except ConfigException as error:
                    raise nested(error) from error
        check_step(self.config, now)

    def _with(self, texts: Mapping[str, str], *, for_all_brokers: bool) -> BrokerConfig:
        layers = self.config.layers
        default = texts if for_all_brokers else layers.dynamic_default
        broker = layers.dynamic_broker if for_all_brokers else texts
        return self.config.with_dynamic(default=dict(default), broker=dict(broker))

    def _encoded_anew(self, zk: ZkClient, path: str) -> dict[str, str]:
        """Blocks. This broker's stored values; passwords of password.encoder.old.secret get the new secret."""
        stored = entity_config(zk, path)
        old_secret = self.config.password_encoder_old_secret
        if old_secret is None or self._encoder is None or not any(map(is_password, stored)):
            return stored
        decoder = PasswordEncoder(old_secret, os.urandom)
        changed = dict(stored)
        for name in filter(is_password, stored):
            try:
                changed[name] = self._encoder.encode(decoder.decode(stored[name]))
            except ConfigException:
                log.debug("%s could not be decoded using the old secret, the new secret will be used.", name)
        if controller(zk) is None:
            # The first broker of a cluster that starts, which will elect itself once it has read this.
            write_entity_config_before_any_broker(zk, path, changed)
        else:
            write_entity_config(zk, path, changed)
        announce_config_change(zk, path)
        return changed
