"""With many topics, what is done for each of them must not look at all of them: operations are counted, not time."""

import math
import uuid

from kafka_zk.controller.store import CREATED_AT_ONCE
from kafka_zk.zk.znodes import ReassignPartitionsZNode
from tests.simulation.scenes import tp

TOPIC_COUNT = 200


def counted_rounds(cluster):
    """What the controller asks ZooKeeper from now on: the paths of each round, writes alike."""
    zk = cluster.members[cluster.controller.settings.broker_id].zk
    rounds = []

    def counted(ask, paths_of):
        def asked(wanted, **options):
            wanted = list(wanted)
            if wanted:
                rounds.append([path for each in wanted for path in paths_of(each)])
            return ask(wanted, **options)

        return asked

    for name in ("get_many", "exists_many", "children_many"):
        setattr(zk, name, counted(getattr(zk, name), lambda path: [path]))
    zk.multi_many = counted(zk.multi_many, lambda batch: [operation.path for operation in batch])
    return rounds


class CountedPath(str):
    """A path that knows how often any of its kind was compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedPath.comparisons += 1
        return str.__eq__(self, other)


def test_what_a_controller_watches_is_found_without_a_look_at_all_of_it(cluster):
    controller = cluster.controller.active_controller
    CountedPath.comparisons = 0
    for index in range(TOPIC_COUNT):
        controller.watch(CountedPath(f"/brokers/topics/t{index}"), "data", None)
    for index in range(TOPIC_COUNT):
        controller.unwatch(CountedPath(f"/brokers/topics/t{index}"), "data")
    assert CountedPath.comparisons <= 10 * TOPIC_COUNT


def test_a_long_list_of_moves_is_not_read_again_for_each_of_them(cluster):
    names = [f"t{index}" for index in range(TOPIC_COUNT)]
    for index, name in enumerate(names):
        cluster.create_topic(name, {0: [1, 2]}, uuid.UUID(int=index + 1))
    cluster.settle()
    rounds = counted_rounds(cluster)
    wish = ReassignPartitionsZNode.encode({tp(name): (2, 1) for name in names})
    cluster.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    cluster.settle()
    assert all(cluster.assignment(name) == {0: (2, 1)} for name in names)
    assert not cluster.exists(ReassignPartitionsZNode.PATH)
    assert sum(ReassignPartitionsZNode.PATH in paths for paths in rounds) <= 10


def test_twenty_topics_take_as_many_rounds_to_zookeeper_as_one_to_be_removed(cluster):
    names = [f"t{index}" for index in range(20)]
    for index, name in enumerate(["alone", *names]):
        cluster.create_topic(name, {0: [1, 2], 1: [2, 3]}, uuid.UUID(int=index + 1))
    cluster.settle()
    rounds = counted_rounds(cluster)
    of_count = {}
    for wanted in (["alone"], names):
        rounds.clear()
        for name in wanted:
            cluster.delete_topic(name)
        cluster.settle()
        assert not any(cluster.exists(f"/brokers/topics/{name}") for name in wanted)
        of_count[len(wanted)] = len(rounds)
    assert of_count[20] <= of_count[1]


def test_the_znodes_of_new_partitions_take_a_request_for_sixteen_of_them(cluster):
    rounds = counted_rounds(cluster)
    cluster.create_topic("t", {index: [1 + index % 3] for index in range(40)})
    cluster.settle()
    assert {cluster.state("t", index).leader for index in range(40)} == {1, 2, 3}
    writes = [paths for paths in rounds if paths[0] == "/controller_epoch"]
    of_topic, of_partitions = (paths for paths in writes if paths[1].startswith("/brokers/topics/t/"))
    assert of_topic == ["/controller_epoch", "/brokers/topics/t/partitions"]
    assert len(of_partitions) == 2 * 40 + of_partitions.count("/controller_epoch")
    assert of_partitions.count("/controller_epoch") == math.ceil(40 / CREATED_AT_ONCE) == 3


def test_a_znode_that_is_there_already_keeps_no_other_new_partition_from_its_own(cluster):
    cluster.create_topic("t", {0: [1], 1: [2], 2: [3]})
    cluster.zookeeper.ensure("/brokers/topics/t/partitions/1")
    cluster.settle()
    assert [cluster.state("t", index).leader for index in range(3)] == [1, 2, 3]
