"""Shared checks of the controller's three requests: who may send them, and for which broker epoch.

Role        Called first by LeaderAndIsr, StopReplica and UpdateMetadata.
Source      Kafka 3.9 KafkaApis.isBrokerEpochStale; KIP-380 (rule 4).
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import StaleBrokerEpoch

NO_BROKER_EPOCH = -1


def check_control_request(ctx: RequestContext, broker_epoch: int) -> None:
    """Raise ClusterAuthorizationFailed, and StaleBrokerEpoch for a request with an earlier broker epoch.

    A larger epoch than ours is fine: the controller may see our registration before we do.
    """
    authorize_request(ctx, Operation.CLUSTER_ACTION)
    if broker_epoch != NO_BROKER_EPOCH and broker_epoch < ctx.services.replica_manager.broker_epoch():
        raise StaleBrokerEpoch
