"""Faults in the order of one connection's answers, and in when its next request may start."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

FILE = "kafka_zk/network/answer_queue.py"
RULES = "tests/unit/network/test_answer_queue.py"
UNSENT = "tests/integration/network/test_socket_server_unsent.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an answer that is there waits for the one before it",
        file=FILE,
        old="            if self._waiting:\n                self._waiting.append(answer)\n"
        "                return True\n",
        new="",
        tests=RULES,
    ),
    Mutant(
        breaks="a turn is over when its answers are large",
        file=FILE,
        old="self.muted_until_ns != 0 or self.unsent_bytes >= self._unsent_limit",
        new="self.muted_until_ns != 0",
        tests=f"{UNSENT} -k turn",
    ),
    Mutant(
        breaks="behind large answers that cannot be sent no request starts",
        file=FILE,
        old="State.UNSENT if self.unsent_bytes >= self._unsent_limit else State.OPEN",
        new="State.OPEN",
        tests=f"{UNSENT} -k only_so_much",
    ),
    Mutant(
        breaks="a late answer that must wait for another counts, too",
        file=FILE,
        old="            self.unsent_bytes += bytes_in_memory(answer.value)\n",
        new="            pass\n",
        tests=f"{UNSENT} -k late_answer",
    ),
    Mutant(
        breaks="a muted connection is not read from",
        file=FILE,
        old="                return State.MUTED\n",
        new="                return State.OPEN\n",
        tests=RULES,
    ),
    Mutant(
        breaks="a shorter mute does not end a longer one",
        file=FILE,
        old="max(self.muted_until_ns, until_ns)",
        new="until_ns",
        tests=RULES,
    ),
    Mutant(
        breaks="behind a waiting fetch no request starts",
        file=FILE,
        old="        self._held = not answer.lets_next_start\n",
        new="",
        tests=RULES,
    ),
    Mutant(
        breaks="what completes after the end of its connection is released",
        file=FILE,
        old="        self._is_closed = True\n",
        new="",
        tests=RULES,
    ),
    Mutant(
        breaks="what stands behind a failed answer is given up",
        file=FILE,
        old="                    self.drop()\n",
        new="                    pass\n",
        tests=RULES,
    ),
)
