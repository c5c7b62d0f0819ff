"""Faults in what one connection may cost, in how it ends, and in how a program does."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ENDS = "tests/integration/network/test_socket_server_ends.py"
LIMITS = "tests/integration/network/test_socket_server_limits.py"
STARTS = "tests/unit/tools/test_server_start_files.py"
UNSENT = "tests/integration/network/test_socket_server_unsent.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a turn is over when its answers are large",
        file="kafka_zk/network/connection.py",
        old=" or self._muted_until_ns or self.unsent_bytes >= UNSENT_BYTES:",
        new=" or self._muted_until_ns:",
        tests=f"{UNSENT} -k turn",
    ),
    Mutant(
        breaks="behind large answers that cannot be sent no request starts",
        file="kafka_zk/network/connection.py",
        old=" and self.unsent_bytes < UNSENT_BYTES",
        new="",
        tests=f"{UNSENT} -k only_so_much",
    ),
    Mutant(
        breaks="a late answer that must wait for another counts, too",
        file="kafka_zk/network/connection.py",
        old="                self.unsent_bytes += _bytes_in_memory(answer.value)\n",
        new="                pass\n",
        tests=f"{UNSENT} -k late_answer",
    ),
    Mutant(
        breaks="the hub does not wait for who has to read what a client that sends no more still gets",
        file="kafka_zk/network/connection.py",
        old="            self._has_ended = True\n            parking.wake()\n",
        new="            self._leave_answers(False)\n",
        tests=f"{ENDS} -k have_to_read",
    ),
    Mutant(
        breaks="a request that waits for memory is handled although its client sends no more",
        file="kafka_zk/network/request_memory.py",
        old="        return memoryview(bytearray()) if self._inner.has_frame else self._inner.room()\n",
        new="        return self._inner.room()\n",
        tests="tests/integration/network/test_socket_server_memory.py -k asked_last",
    ),
    Mutant(
        breaks="a lower max.connections ends those that are too many",
        file="kafka_zk/network/server.py",
        old="        self._end_excess()\n        for listener",
        new="        for listener",
        tests=f"{LIMITS} -k quiet_for_longest",
    ),
    Mutant(
        breaks="a connection that was told to end has made room",
        file="kafka_zk/network/server.py",
        old="        live = [connection for connection in self.connections() if not connection.is_closing]\n",
        new="        live = list(self.connections())\n",
        tests=f"{LIMITS} -k told_to_end",
    ),
    Mutant(
        breaks="the listener of the brokers is protected once another one is added",
        file="kafka_zk/network/server.py",
        old="        quotas.protected_listener = self.rates.protected_listener = settings.protected_listener\n",
        new="",
        tests=f"{LIMITS} -k is_protected",
    ),
    Mutant(
        breaks="a broker under nohup does not end with its terminal",
        file="kafka_zk/tools/server_start.py",
        old="    for number in heeded_signals():\n        gevent",
        new="    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n        gevent",
        tests=f"{STARTS} -k stays_ignored",
    ),
    Mutant(
        breaks="a start whose words nobody reads has the exit code of any other",
        file="kafka_zk/tools/server_start.py",
        old='    forgive("stdout", "stderr")\n',
        new="",
        tests=f"{STARTS} -k cannot_print",
    ),
    Mutant(
        breaks="what is started with -daemon does not end with a terminal",
        file="kafka_zk/tools/background.py",
        old="            preexec_fn=ignore,\n",
        new="",
        tests=f"{STARTS} -k background",
    ),
    Mutant(
        breaks="the collector looks although large requests follow on each other without a gap",
        file="kafka_zk/giving_way.py",
        old="                _collect_if_due()\n",
        new="                pass\n",
        tests="tests/unit/api/test_giving_way.py -k cycles",
    ),
    Mutant(
        breaks="a port that does not exist is refused, and not cut to one that does",
        file="kafka_zk/network/listener.py",
        old="        if not 0 <= port <= MAX_PORT:\n",
        new="        if port < 0:\n",
        tests=f"{LIMITS} -k port_that_is_none",
    ),
    Mutant(
        breaks="a listener whose host is no name keeps no other away",
        file="kafka_zk/network/listener.py",
        old="        except UnicodeError as error:\n",
        new="        except ZeroDivisionError as error:\n",
        tests=f"{LIMITS} -k is_no_name",
    ),
    Mutant(
        breaks="who enters turns inside of turns goes on with them",
        file="kafka_zk/giving_way.py",
        old="        if not self._inside:\n            _turn",
        new="        if True:\n            _turn",
        tests="tests/unit/api/test_giving_way.py -k inside_of_turns",
    ),
    Mutant(
        breaks="who settles what a large answer waits for is not switched",
        file="kafka_zk/api/late_answers.py",
        old="        gevent.spawn(act, settled)\n",
        new="        act(settled)\n",
        tests="tests/unit/api/test_giving_way.py -k ready_early",
    ),
    Mutant(
        breaks="what was asked before a request that meets a bug is answered",
        file="kafka_zk/network/connection.py",
        old="            if not self._is_mid_answer:\n                self._send_last_answers()\n",
        new="",
        tests="tests/integration/network/test_socket_server_garbage.py -k meets_a_bug",
    ),
    Mutant(
        breaks="nothing is sent behind half an answer",
        file="kafka_zk/network/connection.py",
        old="            if not self._is_mid_answer:\n",
        new="            if True:\n",
        tests="tests/integration/network/test_socket_server_garbage.py -k half_an_answer",
    ),
    Mutant(
        breaks="a connection that ends gives the memory of its requests back",
        file="kafka_zk/network/connection.py",
        old="        self._reader.close()\n",
        new="",
        tests="tests/integration/network/test_socket_server_odd_clients.py",
    ),
)
