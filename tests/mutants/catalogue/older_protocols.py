"""Faults of a broker that writes an older inter.broker.protocol.version, and of one whose clock is set."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an ISR change of a topic without an id goes by the topic's name",
        file="kafka_zk/metadata/request_forms.py",
        old="        return LAST_WITH_NAMES\n",
        new="        return None\n",
        tests="tests/unit/metadata/test_controller_channel.py -k without_ids",
    ),
    Mutant(
        breaks="before protocol 2.8 a topic has no id",
        file="kafka_zk/admin/topics.py",
        old="_random_topic_id() if has_id else None",
        new="_random_topic_id()",
        tests="tests/unit/admin/test_topics.py -k before_protocol",
    ),
    Mutant(
        breaks="before protocol 3.2 an unclean election leaves no RECOVERING in the state",
        file="kafka_zk/controller/decisions/election.py",
        old="RECOVERING if has_leader_recovery else RECOVERED",
        new="RECOVERING",
        tests="tests/unit/controller/test_election.py -k before_protocol",
    ),
    Mutant(
        breaks="a block of producer ids is written over the version that was read",
        file="kafka_zk/zk/producer_ids.py",
        old="ProducerIdBlockZNode.encode(block), stat.version)",
        new="ProducerIdBlockZNode.encode(block))",
        tests="tests/unit/coordinator/test_producer_id_znode.py -k same_block",
    ),
    Mutant(
        breaks="a block is asked for again after one that could not be read",
        file="kafka_zk/coordinator/transaction/producer_id_znode.py",
        old="        except BrokerError as error:\n            answer.fail(error)\n            return\n",
        new="        except BrokerError:\n            return\n",
        tests="tests/unit/coordinator/test_producer_id_znode.py -k says_nothing",
    ),
    Mutant(
        breaks="a coordinator of a release before 3.0 is asked for one group at a time",
        file="kafka_zk/coordinator/lag/other_coordinators.py",
        old="        if version < SEVERAL_GROUPS_VERSION:\n",
        new="        if False:\n",
        tests="tests/unit/coordinator/lag/test_group_lag.py -k asked_for",
    ),
    Mutant(
        breaks="a clock that is ahead takes no notice from brokers that have not read it",
        file="kafka_zk/zk/sequence_listener.py",
        old="if self._known_since_ms[name] <= seen_ms - NOTICE_LIFETIME_MS]",
        new="]",
        tests="tests/unit/zk/test_sequence_listener.py -k ahead",
    ),
)
