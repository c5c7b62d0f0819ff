"""With many topics, what is done for each of them must not look at all of them: operations are counted, not time."""

import uuid

from kafka_zk.zk.znodes import ReassignPartitionsZNode
from tests.simulation.scenes import tp

TOPIC_COUNT = 200


class CountedPath(str):
    """A path that knows how often any of its kind was compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedPath.comparisons += 1
        return str.__eq__(self, other)


def test_what_a_term_watches_is_found_without_a_look_at_all_of_it(cluster):
    term = cluster.controller.term
    CountedPath.comparisons = 0
    for index in range(TOPIC_COUNT):
        term.watch(CountedPath(f"/brokers/topics/t{index}"), "data", None)
    for index in range(TOPIC_COUNT):
        term.unwatch(CountedPath(f"/brokers/topics/t{index}"), "data")
    assert CountedPath.comparisons <= 10 * TOPIC_COUNT


def test_a_long_list_of_moves_is_not_read_again_for_each_of_them(cluster):
    names = [f"t{index}" for index in range(TOPIC_COUNT)]
    for index, name in enumerate(names):
        cluster.create_topic(name, {0: [1, 2]}, uuid.UUID(int=index + 1))
    cluster.settle()
    zk = cluster.members[cluster.controller.settings.broker_id].zk
    reads, get_many = [], zk.get_many

    def counted(paths):
        wanted = list(paths)
        reads.extend(path for path in wanted if path == ReassignPartitionsZNode.PATH)
        return get_many(wanted)

    zk.get_many = counted
    wish = ReassignPartitionsZNode.encode({tp(name): (2, 1) for name in names})
    cluster.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    cluster.settle()
    assert all(cluster.assignment(name) == {0: (2, 1)} for name in names)
    assert not cluster.exists(ReassignPartitionsZNode.PATH)
    assert len(reads) <= 5
