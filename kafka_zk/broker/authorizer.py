"""Builds the authorizer that authorizer.class.name asks for, with its own ZooKeeper session.

Role        Acts. Called once, before the broker serves its first request.
Source      KafkaServer.startup, AclAuthorizer.configure.
"""

from __future__ import annotations

import os

from kafka_zk.broker.stops import Stops
from kafka_zk.clock import Clock
from kafka_zk.config.authorizer import AuthorizerSettings, with_own_zookeeper_keys
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.security.acl.authorizer import AclAuthorizer
from kafka_zk.security.acl.cache import AclCache
from kafka_zk.security.acl.changes import AclChanges
from kafka_zk.security.acl.decision import Policy
from kafka_zk.security.acl.following import AclFollower
from kafka_zk.security.acl.store import AclStore
from kafka_zk.zk.identity import identity
from kafka_zk.zk.limits import max_request_bytes
from kafka_zk.zk.session import ZkClient


def start_authorizer(config: BrokerConfig, clock: Clock, stops: Stops) -> AclAuthorizer | None:
    """Blocks. The authorizer with all rules loaded; None if there is to be none. Raises ZkError."""
    if not config.authorizer_class_name:
        return None
    settings = AuthorizerSettings.of(config.originals)
    zk = _session(config, settings)
    stops.add("authorizer's ZooKeeper session", zk.close)
    zk.start()
    cache = AclCache()
    store = AclStore(zk, cache)
    follower = AclFollower(zk, store, clock)
    stops.add("authorizer", follower.stop)
    follower.start()
    policy = Policy(settings.super_users, settings.allow_everyone_if_no_acl_found)
    return AclAuthorizer(cache, policy, AclChanges(cache, store))


def _session(config: BrokerConfig, settings: AuthorizerSettings) -> ZkClient:
    """Blocks for key stores and the JAAS file. Not yet connected.

    What authorizer.zookeeper.* leaves open is as in the broker's own session.
    """

    def chosen(own: int | None, usual: int) -> int:
        return usual if own is None else own

    connection_timeout_ms = settings.connection_timeout_ms
    return ZkClient(
        settings.zookeeper_url or config.zookeeper_connect,
        identity=identity(with_own_zookeeper_keys(config.originals), os.environ),
        protects=config.zookeeper_set_acl,
        session_timeout_ms=chosen(settings.session_timeout_ms, config.zookeeper_session_timeout_ms),
        connection_timeout_ms=(
            config.zookeeper_connection_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        ),
        max_in_flight=chosen(settings.max_in_flight, config.zookeeper_max_in_flight_requests),
        max_request_bytes=max_request_bytes(os.environ),
    )
