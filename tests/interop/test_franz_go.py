"""franz-go's own tests of its client (pkg/kgo), as its authors wrote them, on brokers of each kind.

Those of transactions copy topics in chains, with members that come and leave in the middle of a transaction; at the end
of each chain each record is read once.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, MIXED, OURS, Cluster
from tests.support.golang import built_tests

RECORDS = 30_000
"""Three transactions of the first producer."""
CLUSTERS_OF_TESTS = {
    "apache": CLUSTERS[APACHE_ONLY][:1],
    "ours": CLUSTERS[OURS][:1],
    "three-of-ours": CLUSTERS[OURS][:1] * 3,
    "mixed": CLUSTERS[MIXED],
}
NO_LOGIN = "is told of no broker with logins; tests/interop/sasl and tests/interop/security have those"
NEW_GROUPS, SHARE_GROUPS = "needs the groups of KIP-848, of Kafka 4", "needs share groups, of Kafka 4.2"
SKIPPED = {
    "TestSCRAMAuth": NO_LOGIN,
    "TestSCRAMAuthBadCredentials": NO_LOGIN,
    "TestOAuthAuth": NO_LOGIN,
    "Test848RegexBrokerResolves": NEW_GROUPS,
    "TestGroupSimple/848": NEW_GROUPS,
    **{
        f"{test}/{balancer}": NEW_GROUPS
        for test in ("TestGroupETL", "TestTxnEtl")
        for balancer in ("range/848", "sticky/848", "sticky/848/static")
    },
    "TestConsumeRegexShareSkipsInternal": SHARE_GROUPS,
    "TestShareGroup": SHARE_GROUPS,
    "TestShareGroupETL": SHARE_GROUPS,
    "TestShareGroupAckOnClose": SHARE_GROUPS,
    "TestShareGroupOffsetsAdmin": SHARE_GROUPS,
    "TestIssueProduceBrokerTooOldFailsRecords": "needs a broker that takes no Produce of version 2, as Kafka 4",
}
"""Those that skip themselves, on Apache 3.9.1 and on ours, and why."""
WITHOUT_A_BROKER = "TestOptValuesCoversEveryOption"
"""It reads the sources of its package, which are not where it runs."""
ETL = ("range", "cooperative-sticky", "cooperative-sticky/static")
"""What the chains try with brokers that know no groups of KIP-848."""
_OUTCOME = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(", re.M)


@pytest.fixture(params=CLUSTERS_OF_TESTS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    kinds = CLUSTERS_OF_TESTS[request.param]
    built = Cluster(tmp_path, zookeeper_connect, kinds, auto_create_topics_enable="true")
    yield built
    built.close()


@pytest.mark.slow
def test_franz_go_passes_its_own_tests(cluster: Cluster, tmp_path: Path) -> None:
    settings = {
        "KGO_SEEDS": cluster.bootstrap,
        "KGO_TEST_RF": str(len(cluster.brokers)),
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    program = built_tests("github.com/twmb/franz-go/pkg/kgo")
    command = [program, "-test.v", "-test.timeout", "30m", "-test.skip", f"^{WITHOUT_A_BROKER}$"]
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True)
    (tmp_path / "kgo.log").write_text(done.stdout + done.stderr)
    print(done.stdout[-20_000:], done.stderr[-20_000:])
    outcomes = {name: outcome for outcome, name in _OUTCOME.findall(done.stdout)}
    assert [name for name, outcome in outcomes.items() if outcome == "FAIL"] == []
    assert done.returncode == 0
    assert sorted(name for name, outcome in outcomes.items() if outcome == "SKIP") == sorted(SKIPPED)
    for test in ("TestGroupETL", "TestTxnEtl"):
        assert {outcomes.get(f"{test}/{name}") for name in ETL} == {"PASS"}, test
