"""Faults of producers, consumers and admin clients: calls that end in the middle, clusters that change under them."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a poll that is interrupted skips no record",
        file="kafka_zk/client/consumer/fetcher.py",
        old="                    state.position = position\n            raise\n",
        new="                    pass\n            raise\n",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k skips_no_record",
    ),
    Mutant(
        breaks="what ends a later poll gives no record out twice",
        file="kafka_zk/client/consumer/fetcher.py",
        old="        self._left.clear()\n",
        new="",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k out_twice",
    ),
    Mutant(
        breaks="an interceptor that ends the call costs no callback of a commit",
        file="kafka_zk/client/consumer/group/commits.py",
        old="            self._finished.append(partial(callback, offsets, error))\n            if error is None:\n"
        "                self.latency.record(self._clock.monotonic_ms() - sent_ms)\n"
        "                self.on_committed(offsets)\n",
        new="            if error is None:\n                self.on_committed(offsets)\n"
        "            self._finished.append(partial(callback, offsets, error))\n",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k costs_no_callback",
    ),
    Mutant(
        breaks="a close that is interrupted leaves no socket open",
        file="kafka_zk/client/consumer/parts.py",
        old="        finally:\n            # Also when the wait",
        new="        except ZeroDivisionError:\n            raise\n        else:\n            # Also when the wait",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k no_socket_open",
    ),
)
