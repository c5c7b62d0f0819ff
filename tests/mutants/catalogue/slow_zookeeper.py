"""Faults in what is done about a ZooKeeper that is slow, silent or lost, and about clusters of ten thousand topics."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="requests to a silent server are no sign of its life",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old="    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:\n"
        "        self._give_up_if_silent()\n",
        new="    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:\n",
        tests="tests/unit/zk/test_silent_servers.py -k no_sign_of_its_life",
    ),
    Mutant(
        breaks="a silent server is not given up sooner than the rule says",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old="        self.ping_outstanding.clear()\n",
        new="",
        tests="tests/unit/zk/test_silent_servers.py -k another_can_still_be_reached",
    ),
    Mutant(
        breaks="a server is asked for a sign of life six times in a session",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old="        return 2 * self._silence.turn_s * 1000, connect_timeout_ms\n",
        new="        return read_timeout_ms, connect_timeout_ms\n",
        tests="tests/unit/zk/test_silent_servers.py -k every_sixth",
    ),
    Mutant(
        breaks="a pause of this machine is no silence of its servers",
        file="kafka_zk/zk/silence.py",
        old="min(now_s - self._looked_s, self.turn_s)",
        new="now_s - self._looked_s",
        tests="tests/unit/zk/test_silent_servers.py -k stood_still",
    ),
    Mutant(
        breaks="what has arrived is read before a silence is judged",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old=" and not self.handler.select([self._socket], [], [], 0)[0]:",
        new=":",
        tests="tests/unit/zk/test_silent_servers.py -k read_before",
    ),
    Mutant(
        breaks="one server of an ensemble has its share of the session to accept a connection",
        file="kafka_zk/zk/kazoo_loop.py",
        old="timeout / self._server_count",
        new="timeout",
        tests="tests/unit/zk/test_silent_servers.py -k share_of_the_session",
    ),
    Mutant(
        breaks="a server that was given up is tried after the others",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old="        return sorted(servers, key=lambda server: server == self._tried_last)\n",
        new="        return servers\n",
        tests="tests/unit/zk/test_silent_servers.py -k tried_last",
    ),
    Mutant(
        breaks="a watch whose connection went amid the other reads is set anew",
        file="kafka_zk/zk/sending.py",
        old="            unanswered = sorted({*unanswered, *without_watch})\n",
        new="",
        tests="tests/unit/zk/test_watches.py -k amid_the_other_reads",
    ),
    Mutant(
        breaks="a move that cannot be written keeps nobody from office",
        file="kafka_zk/controller/handlers/reassignment.py",
        old="{partition: _try_to_advance(term, partition, assignment) for partition, assignment in wanted.items()}",
        new="{partition: _advance(term, partition, assignment) for partition, assignment in wanted.items()}",
        tests="tests/simulation/test_controller_lasting_faults.py -k told_of_with_it",
    ),
    Mutant(
        breaks="a list of moves that cannot be written holds up no move",
        file="kafka_zk/controller/handlers/reassignment.py",
        old='    with term.contained("updating /admin/reassign_partitions"):\n',
        new="    if True:\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k list_of_moves",
    ),
    Mutant(
        breaks="a topic that cannot be removed holds up no other deletion",
        file="kafka_zk/controller/store.py",
        old="                    failed[topic_of[path]] = result\n",
        new="                    raise result\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k no_other_deletion",
    ),
    Mutant(
        breaks="a wish for elections that cannot be removed keeps nobody from office",
        file="kafka_zk/controller/handlers/elections.py",
        old='    with term.contained("removing /admin/preferred_replica_election"):\n',
        new="    if True:\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k wish_for_elections",
    ),
    Mutant(
        breaks="a topic that cannot be given an id keeps nobody from office",
        file="kafka_zk/controller/handlers/topics.py",
        old='            with term.contained(f"giving topic {topic} an id"):\n',
        new="            if True:\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k given_an_id",
    ),
    Mutant(
        breaks="a znode that the controller may not read counts as missing",
        file="kafka_zk/controller/store.py",
        old='                _LOGGER.error("%s", node)\n                continue\n',
        new="                raise node\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k counts_as_missing",
    ),
    Mutant(
        breaks="what a term watches is found without a look at all of it",
        file="kafka_zk/controller/term.py",
        old="        if (path, kind) in self.watched:\n            return\n",
        new="        if (path, kind) in list(self.watched):\n            return\n",
        tests="tests/simulation/test_controller_many_topics.py -k watches",
    ),
    Mutant(
        breaks="a long list of moves is not read again for each of them",
        file="kafka_zk/controller/handlers/reassignment.py",
        old="    term.context.being_reassigned.discard(partition)\n",
        new="    term.context.being_reassigned.discard(partition)\n"
        "    _forget_in_znode(term, lambda other, _: other == partition)\n",
        tests="tests/simulation/test_controller_many_topics.py -k list_of_moves",
    ),
    Mutant(
        breaks="many topics take as many rounds to ZooKeeper as one to be removed",
        file="kafka_zk/controller/handlers/deletion.py",
        old="        _complete(term, todo.complete)\n",
        new="        for topic in todo.complete:\n            _complete(term, [topic])\n",
        tests="tests/simulation/test_controller_many_topics.py -k as_many_rounds",
    ),
    Mutant(
        breaks="a topic that is deleted is not read again for the change of its znode",
        file="kafka_zk/controller/handlers/topics.py",
        old="    if topic not in context.assignments:\n        # It was",
        new="    if False:\n        # It was",
        tests="tests/simulation/test_controller_many_topics.py -k as_many_rounds",
    ),
    Mutant(
        breaks="the notices that a start finds are read and purged in a few rounds",
        file="kafka_zk/zk/sequence_listener.py",
        old="zip(old, self._zk.multi_many([[Delete(path)] for path in old]), strict=True)",
        new="((path, self._zk.multi([Delete(path)])) for path in old)",
        tests="tests/unit/zk/test_sequence_listener.py -k few_rounds",
    ),
    Mutant(
        breaks="a resolver that does not answer does not stop the loop",
        file="kafka_zk/zk/kazoo_pipeline.py",
        old="gevent.get_hub().threadpool.apply(super()._expand_client_hosts)",
        new="super()._expand_client_hosts()",
        tests="tests/unit/zk/test_silent_servers.py -k resolver",
    ),
    Mutant(
        breaks="a topic that is made anew amid its deletion keeps its overrides",
        file="kafka_zk/controller/store.py",
        old="        roots, *below = self._levels(",
        new="        roots = {}\n        below = self._levels(",
        tests="tests/simulation/test_controller_topics.py -k made_anew_amid",
    ),
    Mutant(
        breaks="the configs of a topic that is deleted while a broker starts are not those of the next of its name",
        file="kafka_zk/broker/topic_configs.py",
        old="            del self._overrides[topic]\n",
        new="            continue\n",
        tests="tests/unit/broker/test_topic_configs.py -k start_is_over",
    ),
    Mutant(
        breaks="of a topic that is gone no configs are kept for the next of its name",
        file="kafka_zk/broker/topic_configs.py",
        old="            if found.version is not None:\n",
        new="            if True:\n",
        tests="tests/unit/broker/test_topic_configs.py -k without_a_znode",
    ),
    Mutant(
        breaks="a change of a config that comes during a start is not undone by what was read before it",
        file="kafka_zk/admin/config_changes.py",
        old="        self._listener.start(before_following=self._apply_all)\n",
        new="        self._listener.start()\n        self._apply_all()\n",
        tests="tests/unit/admin/test_config_changes.py -k first_look",
    ),
    Mutant(
        breaks="a notice that cannot be read stops none of those behind it",
        file="kafka_zk/zk/sequence_listener.py",
        old='            log.error("error while processing notification change for path = %s: %s", path, notice)\n'
        "            return\n",
        new="            raise notice\n",
        tests="tests/unit/zk/test_sequence_listener.py -k cannot_be_read_stops",
    ),
    Mutant(
        breaks="an old notice that cannot be removed stops none of those behind it",
        file="kafka_zk/zk/sequence_listener.py",
        old='                log.error("Error purging the change notification %s: %s", path, outcome)',
        new="                raise outcome",
        tests="tests/unit/zk/test_sequence_listener.py -k cannot_be_removed",
    ),
    Mutant(
        breaks="notices that could not be read are asked for again without further news",
        file="kafka_zk/zk/sequence_listener.py",
        old="                gevent.sleep(RETRY_PAUSE_S)\n                self._dirty.set()\n",
        new="",
        tests="tests/unit/zk/test_sequence_listener.py -k asked_for_again",
    ),
    Mutant(
        breaks="a look for unheard deletions that ends in a fault of ours is taken again",
        file="kafka_zk/broker/unheard_deletions.py",
        old="on_error=lambda _: self._is_due.set(), ",
        new="",
        tests="tests/unit/broker/test_unheard_deletions.py -k fault_of_ours",
    ),
    Mutant(
        breaks="each attempt to leave the cluster in order names the present registration",
        file="kafka_zk/broker/membership/controlled_shutdown.py",
        old="    for attempt in range(1, retries + 1):\n"
        "        if _ask(controller, config, broker_id, broker_epoch()):\n",
        new="    epoch = broker_epoch()\n"
        "    for attempt in range(1, retries + 1):\n"
        "        if _ask(controller, config, broker_id, epoch):\n",
        tests="tests/unit/broker/test_controlled_shutdown.py",
    ),
    Mutant(
        breaks="a topic that is made anew amid a deletion is not deleted by the next controller",
        file="kafka_zk/controller/store.py",
        old="apart = self._remove_with_wishes({path: topic for path, topic in roots.items() if topic not in failed})",
        new="apart = {path: topic for path, topic in roots.items() if topic not in failed}",
        tests="tests/simulation/test_controller_topics.py -k by_the_next_controller",
    ),
)
