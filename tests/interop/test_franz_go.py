"""franz-go's own test of transactions, as its authors wrote it: groups that copy topics in chains, with members that
come and leave in the middle of a transaction; at the end of each chain each record is read once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, OURS, Cluster
from tests.support.golang import built_tests

RECORDS = 30_000
"""Three transactions of the first producer."""
PASSED = ("range", "cooperative-sticky", "cooperative-sticky/static")
"""What it tries with brokers that know no groups of KIP-848."""


@pytest.fixture(params=[APACHE_ONLY, OURS])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[1, 3], ids=["one-replica", "three-replicas"])
def cluster(kind: str, request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    built = Cluster(tmp_path, zookeeper_connect, CLUSTERS[kind][:1] * request.param)
    yield built
    built.close()


@pytest.mark.slow
def test_franz_go_reads_each_record_once_at_the_end_of_each_chain(cluster: Cluster, tmp_path: Path) -> None:
    settings = {
        "KGO_SEEDS": cluster.bootstrap,
        "KGO_TEST_RF": str(len(cluster.brokers)),
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    program = built_tests("github.com/twmb/franz-go/pkg/kgo")
    command = [program, "-test.run", "^TestTxnEtl$", "-test.v", "-test.timeout", "10m"]
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True)
    print(done.stdout, done.stderr[-20_000:])
    assert done.returncode == 0
    for name in PASSED:
        assert f"--- PASS: TestTxnEtl/{name} " in done.stdout
