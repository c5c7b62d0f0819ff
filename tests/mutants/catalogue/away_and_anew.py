"""Faults of brokers that were away, and of topics that were deleted or made anew meanwhile: each of them once real."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

LEADERS = "tests/unit/replication/test_unheard_leaders.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a broker that was away finds out which topics were deleted",
        file="kafka_zk/replication/leadership.py",
        old="            if told_in != self._told_in and before.topics:\n",
        new="            if False:\n",
        tests="tests/unit/broker/test_unheard_deletions.py -k deleted_meanwhile",
    ),
    Mutant(
        breaks="a topic that is made anew while another looks is not forgotten",
        file="kafka_zk/replication/leadership.py",
        old="if self._metadata_cache.topic(topic.name) is topic]",
        new="if self._metadata_cache.topic(topic.name)]",
        tests="tests/unit/broker/test_unheard_deletions.py -k told_anew",
    ),
    Mutant(
        breaks="a log that outlived its topic makes room for the next one of its name",
        file="kafka_zk/replication/leadership.py",
        old="            self._log_manager.has_no_topic(topic_partition)\n",
        new="",
        tests="tests/unit/broker/test_unheard_deletions.py -k begins_empty",
    ),
    Mutant(
        breaks="a growth that is sent again is not written over a topic made anew",
        file="kafka_zk/zk/sending.py",
        old="results_if_applied(*question) or refusal_if_made_anew(*question)",
        new="results_if_applied(*question)",
        tests="tests/unit/zk/test_lost_replies.py -k growth_is_not",
    ),
    Mutant(
        breaks="a partition that never had a leader gets one where it is moved to",
        file="kafka_zk/controller/handlers/reassignment.py",
        old="        controller.partitions.move([partition], PartitionState.ONLINE)\n",
        new="",
        tests="tests/simulation/test_controller_moves_interrupted.py -k gets_one_where",
    ),
    Mutant(
        breaks="a leader ends leading when the metadata name another one",
        file="kafka_zk/replication/leadership.py",
        old="            self._end_leading(told.led_elsewhere)\n",
        new="",
        tests=f"{LEADERS} -k told_by_metadata",
    ),
    Mutant(
        breaks="a leader ends leading only for what is newer than its epoch",
        file="kafka_zk/replication/unheard.py",
        old="state.leader_epoch > partition.leader_epoch",
        new="state.leader_epoch >= 0",
        tests=f"{LEADERS} -k not_newer",
    ),
    Mutant(
        breaks="a leader that is told to follow nobody ends leading",
        file="kafka_zk/replication/leadership.py",
        old="                if partition.is_leader:\n                    self._end_leading([partition])\n"
        "                continue\n",
        new="                continue\n",
        tests=f"{LEADERS} -k follow_nobody",
    ),
    Mutant(
        breaks="who follows nobody serves no readers",
        file="kafka_zk/replication/partition.py",
        old="(leader_only or self.leader_id < 0)",
        new="leader_only",
        tests=f"{LEADERS} -k told_by_metadata",
    ),
    Mutant(
        breaks="a replica of an earlier topic makes room for the next one of the name",
        file="kafka_zk/replication/unheard.py",
        old="topic_id != NULL_UUID and log.topic_id not in (None, topic_id)",
        new="not log.topic_id",
        tests=f"{LEADERS} -k made_anew",
    ),
    Mutant(
        breaks="who loses a topic to another creation writes no config of it",
        file="kafka_zk/zk/topics.py",
        old="        settled = SetData(config_path, config)\n",
        new="        zk.set(config_path, config)\n        settled = Check(config_path, -1)\n",
        tests="tests/unit/admin/test_topics.py -k one_wins",
    ),
    Mutant(
        breaks="a topic gets no config that another broker has just written for its own",
        file="kafka_zk/zk/topics.py",
        old="settled = Check(config_path, 0)",
        new="settled = Check(config_path, -1)",
        tests="tests/unit/admin/test_topics.py -k not_ours",
    ),
    Mutant(
        breaks="an ISR change of a deleted topic is not made to the next one of its name",
        file="kafka_zk/replication/leading/isr_changes.py",
        old="    return change.topic_partition.topic, change.topic_id\n",
        new="    return change.topic_partition.topic, UUID(int=6)\n",
        tests="tests/unit/replication/test_isr_changes.py -k next_one",
    ),
    Mutant(
        breaks="partitions that are added while the tool adds others stay",
        file="kafka_zk/tools/topics/zookeeper_changes.py",
        old="topic.topic_id), zk_version=zk_version)",
        new="topic.topic_id), zk_version=-1)",
        tests="tests/unit/tools/test_topics_growth_in_zookeeper.py",
    ),
    Mutant(
        breaks="a topic that is ordered anew before it is told of outlives the look for the one before",
        file="kafka_zk/replication/leadership.py",
        old="if not is_of_another_topic(self._hosted.find(topic.name, index), topic.topic_id)",
        new="if True",
        tests="tests/unit/broker/test_unheard_deletions.py -k ordered_anew",
    ),
    Mutant(
        breaks="a start waits only for who registered an address of its own",
        file="kafka_zk/broker/membership/predecessor.py",
        old=" or self._addresses.isdisjoint(_addresses(found)):",
        new=":",
        tests="tests/unit/broker/test_predecessor.py -k only_a_registration",
    ),
    Mutant(
        breaks="a start does not wait for who registered while it waited",
        file="kafka_zk/broker/membership/predecessor.py",
        old="        elif session_id != self._session_id:\n            return False\n",
        new="",
        tests="tests/unit/broker/test_predecessor.py -k meanwhile_is_alive",
    ),
    Mutant(
        breaks="a start that lost ZooKeeper while it waited waits for a whole timeout again",
        file="kafka_zk/broker/membership/predecessor.py",
        old="self._looked_ms >= ZOOKEEPER_AWAY_MS:",
        new="self._looked_ms < 0:",
        tests="tests/unit/broker/test_predecessor.py -k return_of_zookeeper",
    ),
)
