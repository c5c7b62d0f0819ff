"""What of the interop suite waits for `--full`: the same once more with the roles exchanged.

CI shows each subject once. A test marked `slow` in its own file is long by itself; one that is named here is one
of several alike, and costs CI minutes and chances to fail for a reason that is not in the code.
"""

from __future__ import annotations

import re

_AT_APACHES_BROKER = """
    test_changed_listeners test_cleaner_settings test_closing_java test_console_tools test_moved_replicas
    test_our_transactions test_request_memory test_security_tools test_small_tools test_spark_exactly_once
    test_topics_tool test_transactions_tool test_transaction_histories
"""
_MASKS_OF_BOTH = "test_console_tools test_small_tools test_transactions_tool"

ONCE_MORE = (
    # At Apache's broker alone: that the test asks for what Apache does.
    *(rf"/{name}\.py::\w+\[(apache|ApacheBroker)\b" for name in _AT_APACHES_BROKER.split()),
    *(rf"/{name}\.py::test_what_is_masked_occurs" for name in _MASKS_OF_BOTH.split()),
    # The other one is the controller, or is told.
    r"/test_secured_cluster\.py::\w+\[we control",
    r"/test_configs_of_a_mixed_cluster\.py::\w+\[we-control",
    r"/tls/test_mixed_cluster\.py::\w+\[we control",
    # Another protocol or mechanism for the same client: each client keeps one of each.
    r"/test_every_client\.py::\w+\[(\S+-)?SASL_PLAINTEXT-(PLAIN|SCRAM-SHA-256|SCRAM-SHA-512)\]",
    r"/test_every_client\.py::\w+\[(\S+-)?SASL_SSL-(SCRAM-SHA-256|OAUTHBEARER)\]",
    r"/test_every_client\.py::test_a_wrong_password_is_told_in_kafkas_words\[\S+-SCRAM-SHA-256\]",
    r"/test_renewed_sessions\.py::\w+\[PLAIN\]",
    r"/test_our_clients_at_apache\.py::test_sessions_are_renewed_\w+\[(PLAIN|SCRAM-SHA-256)\]",
    r"/test_kerberos\.py::\w+\[(.*-)?2\]",
    # Another client library, codec, assignor or option of the same kind.
    r"/test_chains\.py::test_each_record_arrives_once_and_in_its_order\[(apache|ours-(python|us))",
    r"/test_groups_fleet\.py::test_(java_members_of_two|a_static_member_that_crashes_and_returns_\w+\[python)",
    r"/test_our_consumer\.py::test_what_javas_producer_wrote_is_read_as_it_was_given\[(gzip|snappy|lz4)\]",
    r"/test_our_consumer\.py::test_java_and_ours_share_a_group\[\w+-RangeAssignor\]",
    r"/test_java_programs\.py::test_java_members_share_read_and_commit\[RangeAssignor",
    r"/test_spark_connector\.py::test_options_choose_the_same_records\[startingOffsets\+endingOffsets\]",
    r"/test_spark_connector\.py::test_options_choose_the_same_records\[assign\]",
    r"/test_secure_trial\.py::test_(the_python_programs|our_clients_are_told|kafka_python_is_told|java_is_told)",
)
_ONCE_MORE = re.compile("|".join(ONCE_MORE))


def is_once_more(nodeid: str) -> bool:
    """Whether a test of interop is one of several alike."""
    return nodeid.startswith("tests/interop/") and _ONCE_MORE.search(nodeid) is not None
