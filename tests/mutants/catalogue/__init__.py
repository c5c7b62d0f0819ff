"""Planted faults: small changes to the broker, each of which the named tests must catch.

A row is a promise that the suite can fail: it names the rule that the change breaks and the tests that say so.
"""

from __future__ import annotations

from tests.mutants.catalogue import (
    answer_queue,
    away_and_anew,
    client,
    clients,
    cluster,
    connections,
    controller,
    groups,
    jobs,
    large_requests,
    leaderships,
    log,
    log_meetings,
    network,
    rare_meetings,
    record_and_protocol,
    replication,
    security_acl,
    security_client_tls,
    security_sasl_client,
    security_sasl_server,
    security_tls,
    security_tokens,
    security_tools,
    security_zookeeper,
    slow_zookeeper,
    spark,
    tools,
)
from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *record_and_protocol.MUTANTS,
    *log.MUTANTS,
    *cluster.MUTANTS,
    *controller.MUTANTS,
    *replication.MUTANTS,
    *large_requests.MUTANTS,
    *client.MUTANTS,
    *clients.MUTANTS,
    *network.MUTANTS,
    *connections.MUTANTS,
    *answer_queue.MUTANTS,
    *spark.MUTANTS,
    *tools.MUTANTS,
    *jobs.MUTANTS,
    *rare_meetings.MUTANTS,
    *away_and_anew.MUTANTS,
    *slow_zookeeper.MUTANTS,
    *leaderships.MUTANTS,
    *log_meetings.MUTANTS,
    *groups.MUTANTS,
    *security_acl.MUTANTS,
    *security_tls.MUTANTS,
    *security_tools.MUTANTS,
    *security_tokens.MUTANTS,
    *security_client_tls.MUTANTS,
    *security_sasl_client.MUTANTS,
    *security_sasl_server.MUTANTS,
    *security_zookeeper.MUTANTS,
)
