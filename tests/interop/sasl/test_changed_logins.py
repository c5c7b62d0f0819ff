"""What altering the logins of an open listener does: the same at Apache's broker and at ours.

What the configuration takes is compared too: a key that a listener has got since the start stands in the way of later
changes of listeners.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.errors import SaslAuthenticationException
from kafka_zk.protocol.messages import incremental_alter_configs as incremental
from kafka_zk.protocol.messages.describe_configs import (
    DESCRIBE_CONFIGS_REQUEST,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.integration.security.sasl_broker import PLAIN_MODULE, PREFIX, sasl_overrides
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

JAAS = f"{PREFIX}plain.sasl.jaas.config"
ONE_USER = f'{PLAIN_MODULE} required user_carol="carol-secret";'
KINDS = (ApacheBroker, OurBroker)
STEPS: tuple[dict[str, str | None], ...] = (
    {JAAS: ONE_USER},
    {JAAS: "no JAAS at all"},
    {f"{PREFIX}plain.sasl.login.callback.handler.class": "com.example.Mine"},
    {f"{PREFIX}oauthbearer.sasl.oauthbearer.clock.skew.seconds": "soon"},
    {"sasl.login.retry.backoff.ms": "7"},
    {"sasl.login.refresh.buffer.seconds": "7"},
    {JAAS: None},
    {"sasl.login.refresh.buffer.seconds": "8"},
    {JAAS: ONE_USER},
)


def alter(bootstrap: str, changes: Mapping[str, str | None]) -> tuple[int, str | None]:
    configs = [
        incremental.AlterableConfig(name=name, config_operation=int(text is None), value=text)
        for name, text in changes.items()
    ]
    resource = incremental.AlterConfigsResource(resource_type=4, resource_name="0", configs=configs)
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
    with RawClient(bootstrap) as client:
        result = client.send(incremental.INCREMENTAL_ALTER_CONFIGS_REQUEST, request, 1).responses[0]
    return result.error_code, result.error_message


def is_applied(bootstrap: str, changes: Mapping[str, str | None]) -> bool:
    """Whether the broker says so: a change is told to all by a notice. Passwords are not shown, only that they are."""
    resource = DescribeConfigsResource(resource_type=4, resource_name="0", configuration_keys=None)
    with RawClient(bootstrap) as client:
        found = (
            client.send(DESCRIBE_CONFIGS_REQUEST, DescribeConfigsRequest(resources=[resource]), 4).results[0].configs
        )
    dynamic = {each.name: each.value for each in found if each.config_source == 2}
    return all(
        name not in dynamic if text is None else name in dynamic and dynamic[name] in (text, None)
        for name, text in changes.items()
    )


def logs_in(bootstrap: str, user: str) -> bool:
    config = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="{user}" password="{user}-secret";',
    }
    try:
        with AdminClient(config) as admin:
            admin.list_topics()
    except SaslAuthenticationException:
        return False
    return True


@pytest.mark.slow
def test_an_altered_login_of_an_open_listener_counts_after_a_restart(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    told: dict[str, list[object]] = {}
    for kind in KINDS:
        overrides = sasl_overrides({"sasl.enabled.mechanisms": "PLAIN", "password.encoder.secret": "encoder-secret"})
        sasl, plain = (each.rpartition("://")[2] for each in overrides["listeners"].split(","))
        connect = fresh_chroot(zookeeper, "changed-logins")
        broker = kind(tmp_path / kind.__name__, connect, overrides=overrides)
        if isinstance(broker, ApacheBroker):
            broker.port = int(sasl.rpartition(":")[2])
        broker.start()
        try:
            seen = told[kind.__name__] = []
            for changes in STEPS:
                answer = alter(plain, changes)
                if answer[0] == 0:
                    wait_until(lambda p=plain, c=changes: is_applied(p, c), f"{changes} counts")  # type: ignore[misc]
                seen.append(answer)
            seen += [logs_in(sasl, "alice"), logs_in(sasl, "carol")]
            broker.kill()
            broker.start()
            seen += [logs_in(sasl, "alice"), logs_in(sasl, "carol")]
        finally:
            broker.kill()
    assert told["OurBroker"] == told["ApacheBroker"]
    assert told["OurBroker"][-4:] == [True, False, False, True]
