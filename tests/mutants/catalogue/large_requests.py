"""Faults in how large requests are served."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS = (
    Mutant(
        breaks="a large request is served in turns",
        file="kafka_zk/api/dispatch.py",
        old="        if route.gives_way or size_bytes >= LARGE_FRAME_BYTES:\n",
        new="        if False:\n",
        tests="tests/unit/api/test_giving_way.py",
    ),
    Mutant(
        breaks="the bytes of an answer are bounded",
        file="kafka_zk/api/dispatch.py",
        old="route.encode_in_turns(response, give_way, MAX_ANSWER_BYTES)",
        new="route.encode_in_turns(response, give_way, 1 << 40)",
        tests="tests/unit/api/test_giving_way.py",
    ),
    Mutant(
        breaks="handlers let others in between the partitions of a request",
        file="kafka_zk/api/walk.py",
        old="act, refuse) for partition in in_turns(partitions_of(topic))]",
        new="act, refuse) for partition in partitions_of(topic)]",
        tests="tests/unit/api/test_giving_way.py",
    ),
    Mutant(
        breaks="who is called by others is not switched",
        file="kafka_zk/giving_way.py",
        old=" and getcurrent() in _turn.taking:",
        new=":",
        tests="tests/unit/api/test_giving_way.py",
    ),
    Mutant(
        breaks="equal resources are described once",
        file="kafka_zk/api/walk.py",
        old="            known[asked] = found\n",
        new="",
        tests="tests/unit/api/test_equal_names.py",
    ),
    Mutant(
        breaks="a topic that Metadata names again and again is answered once",
        file="kafka_zk/api/cluster/metadata.py",
        old="for asked in in_turns(once.values())]",
        new="for asked in in_turns(request.topics or ())]",
        tests="tests/unit/api/test_equal_names.py",
    ),
    Mutant(
        breaks="arrays are read in turns by the pure twin, too",
        file="kafka_zk/protocol/decoder.py",
        old="            if self.in_turns:\n",
        new="            if False:\n",
        tests="tests/unit/protocol/test_in_turns.py",
    ),
)
