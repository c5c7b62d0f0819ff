"""ApiVersions of a running Apache broker and of ours: the same versions for each key we list, the same features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.raw_client import RawClient, all_versions, as_plain
from tests.support.wire import wait_for_brokers
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

Answers = dict[int, dict[str, Any]]


@pytest.fixture(scope="module")
def answers(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """By version: Apache's and ours."""

    def ask(name: str, kind: type[ApacheBroker] | type[OurBroker]) -> Answers:
        folder: Path = tmp_path_factory.mktemp(name)
        broker = kind(folder, fresh_chroot(zookeeper, name))
        broker.start()
        try:
            with RawClient(broker.bootstrap) as client:
                wait_for_brokers(client)
                request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
                return {
                    version: as_plain(client.send(API_VERSIONS_REQUEST, request, version))
                    for version in all_versions(API_VERSIONS_REQUEST)
                }
        finally:
            broker.stop()

    return ask("apache", ApacheBroker), ask("ours", OurBroker)


def test_each_listed_key_has_apaches_versions(answers: tuple[Answers, Answers]) -> None:
    for version, ours in answers[1].items():
        apaches = {key["api_key"]: key for key in answers[0][version]["api_keys"]}
        assert [key for key in ours["api_keys"] if key != apaches.get(key["api_key"])] == [], f"v{version}"


def test_everything_but_the_list_of_keys_is_equal(answers: tuple[Answers, Answers]) -> None:
    for version, ours in answers[1].items():
        assert {**ours, "api_keys": None} == {**answers[0][version], "api_keys": None}, f"v{version}"
