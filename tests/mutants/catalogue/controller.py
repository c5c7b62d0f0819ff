"""Faults in what the controller decides."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MOVES = "tests/simulation/test_controller_moves_interrupted.py"

UNSEEN = "tests/simulation/test_controller_restarts_unseen.py"
FAILOVER = "kafka_zk/controller/handlers/failover.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a member that restarted while there was no controller leaves the ISRs",
        file=FAILOVER,
        old="        del context.brokers[broker_id]\n",
        new="        pass\n",
        tests=f"{UNSEEN} -k leaves_the_isr",
    ),
    Mutant(
        breaks="a move does not end with a replica that restarted while there was no controller",
        file="kafka_zk/controller/decisions/restarts.py",
        old="if brokers[member].epoch > zxid]",
        new="if brokers[member].epoch > zxid and member == state.leader]",
        tests=f"{UNSEEN} -k does_not_end",
    ),
    Mutant(
        breaks="who restarted while there was no controller joins again at once",
        file=FAILOVER,
        old="        brokers.on_broker_change(controller)\n",
        new="",
        tests=f"{UNSEEN} -k follows",
    ),
    Mutant(
        breaks="no election is unclean where the last member in sync restarted while there was no controller",
        file=FAILOVER,
        old="    controller.partitions.waits_for_members = bool(restarted)\n",
        new="",
        tests=f"{UNSEEN} -k unclean",
    ),
    Mutant(
        breaks="a znode of a new partition that is there already keeps no other partition from its own",
        file="kafka_zk/controller/store.py",
        old="                failed |= self._create_one_by_one({each: wanted[each] for each in group})\n",
        new="                failed |= {each: NoNode() for each in group}\n",
        tests="tests/simulation/test_controller_many_topics.py -k there_already",
    ),
    Mutant(
        breaks="the znodes of new partitions are created many at a time",
        file="kafka_zk/controller/store.py",
        old="            if any(isinstance(result, ZkError) for result in results):\n",
        new="            if results:\n",
        tests="tests/simulation/test_controller_many_topics.py -k sixteen",
    ),
    Mutant(
        breaks="whoever comes behind the controller's last event is told",
        file="kafka_zk/controller/mailbox.py",
        old="        self._has_last = True\n",
        new="",
        tests="tests/unit/controller/test_mailbox.py -k behind_the_last",
    ),
    Mutant(
        breaks="whoever waits for the event that a stop interrupts is told",
        file="kafka_zk/controller/loop.py",
        old="            self._fail(queued, dropped_error(event))\n            raise\n",
        new="            raise\n",
        tests="tests/simulation/test_controller_election.py -k interrupts",
    ),
    Mutant(
        breaks="a controller that gave up deletes /controller later where it could not at once",
        file="kafka_zk/controller/loop.py",
        old="            self._left = store\n",
        new="            pass\n",
        tests="tests/simulation/test_controller_election.py -k does_so_later",
    ),
    Mutant(
        breaks="a bug in what follows an error does not end the controller's greenlet",
        file="kafka_zk/controller/loop.py",
        old='            caught(f"Controller id={self._id}", "resigning")\n',
        new="            raise\n",
        tests="tests/simulation/test_controller_election.py -k elected_in_the_next",
    ),
    Mutant(
        breaks="a partition that never had a leader needs none when its move is given up",
        file="kafka_zk/controller/decisions/reassignment.py",
        old="    if current is None:\n        return False\n    return current.leader",
        new="    return current.leader",
        tests=f"{MOVES} -k never_had",
    ),
    Mutant(
        breaks="the only replicas in sync are not deleted with the move that made them",
        file="kafka_zk/controller/decisions/reassignment.py",
        old="    if state is None or set(abandoned).isdisjoint(state.isr):\n",
        new="    if state is None or abandoned:\n",
        tests=f"{MOVES} -k only_its_new",
    ),
    Mutant(
        breaks="a leader that a new target leaves out hands over before it is deleted",
        file="kafka_zk/controller/handlers/reassignment.py",
        old="        if state is not None and state.leader in abandoned:\n",
        new="        if state is not None and state.leader < 0:\n",
        tests=f"{MOVES} -k hands_over",
    ),
    Mutant(
        breaks="a replica that is in sync is not made anew where its directory failed",
        file="kafka_zk/controller/handlers/reassignment.py",
        old="is_new = broker_id not in leadership.isr",
        new="is_new = broker_id not in ()",
        tests=f"{MOVES} -k new_to_nobody",
    ),
    Mutant(
        breaks="a move whose batch failed half way makes the controller resign",
        file="kafka_zk/controller/errors.py",
        old="RESIGNATION_ERRORS = (ControllerMoved, SessionExpired, ConnectionClosed, BatchAbandoned)\n",
        new="RESIGNATION_ERRORS = (ControllerMoved, SessionExpired, ConnectionClosed)\n",
        tests=f"{MOVES} -k half_done",
    ),
    Mutant(
        breaks="a broker that lost its session before its controller started registers first",
        file="kafka_zk/controller/loop.py",
        old="        if self._registered_generation != generation:\n",
        new="        if self._registered_generation > generation:\n",
        tests="tests/simulation/test_controller_election.py -k registers_first",
    ),
    Mutant(
        breaks="listeners that change while the broker registers anew are told",
        file="kafka_zk/broker/parts.py",
        old="        if self._endpoints is not told:\n",
        new="        if told is None:\n",
        tests="tests/unit/broker/test_registration.py",
    ),
    Mutant(
        breaks="the controller itself goes to the changed listener of a broker",
        file="kafka_zk/controller/handlers/brokers.py",
        old="        controller.channels.move(found)\n",
        new="",
        tests="tests/simulation/test_controller_brokers.py -k goes_to",
    ),
    Mutant(
        breaks="a znode's number that no request can hold is malformed",
        file="kafka_zk/zk/znodes/documents.py",
        old="    return _within(value, 32)\n",
        new="    return _within(value, 64)\n",
        tests="tests/unit/zk/test_znodes.py -k no_request_can_hold",
    ),
    Mutant(
        breaks="a registration with an unknown security protocol is malformed",
        file="kafka_zk/zk/znodes/brokers.py",
        old="    if protocol not in SECURITY_PROTOCOLS:\n",
        new="    if not protocol:\n",
        tests="tests/simulation/test_controller_lasting_faults.py -k nobody_can_be_told_of",
    ),
    Mutant(
        breaks="a rack that is no text is malformed",
        file="kafka_zk/zk/znodes/brokers.py",
        old="rack=None if rack is None else documents.short_text(rack),",
        new="rack=rack,",
        tests="tests/unit/zk/test_znodes.py -k no_request_can_hold",
    ),
    Mutant(
        breaks="a name or rack that no request can hold is malformed",
        file="kafka_zk/zk/znodes/documents.py",
        old="    if len(text(value).encode()) > LONGEST_STRING_BYTES:\n",
        new="    if len(text(value)) > 2**20:\n",
        tests="tests/unit/zk/test_znodes.py -k no_request_can_hold",
    ),
    Mutant(
        breaks="an unknown leader recovery state is not written",
        file="kafka_zk/controller/decisions/alter_partition.py",
        old="    if wanted.recovery_state not in (RECOVERED, RECOVERING):\n",
        new="    if wanted.recovery_state < RECOVERED:\n",
        tests="tests/unit/controller/test_alter_partition.py -k no_kafka_knows",
    ),
    Mutant(
        breaks="an epoch that has no next one is malformed",
        file="kafka_zk/zk/znodes/documents.py",
        old="    if integer(value) == LAST_EPOCH:\n",
        new="    if integer(value) == LAST_EPOCH + 1:\n",
        tests="tests/simulation/test_controller_election.py -k epoch_that_cannot_be_read",
    ),
    Mutant(
        breaks="a controller epoch that no request can hold is malformed",
        file="kafka_zk/zk/znodes/controller.py",
        old='            return documents.epoch(int(data or b""))\n',
        new='            return int(data or b"")\n',
        tests="tests/simulation/test_controller_election.py -k epoch_that_cannot_be_read",
    ),
    Mutant(
        breaks="each broker is told its own epoch, though the rest is encoded once for all",
        file="kafka_zk/controller/decisions/shared_body.py",
        old="_EPOCH.pack(broker_epoch)",
        new="_EPOCH.pack(0)",
        tests="tests/unit/controller/test_requests.py -k encoded_once",
    ),
    Mutant(
        breaks="brokers that are told something else share no body",
        file="kafka_zk/controller/decisions/requests.py",
        old="        _, broker_ids = alike.setdefault(tuple(map(id, states.values())), (states, []))\n",
        new="        _, broker_ids = alike.setdefault((), (states, []))\n",
        tests="tests/unit/controller/test_requests.py -k something_else",
    ),
)
