"""Faults in how connections are served and end, and in what waits behind them."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ENDS = "tests/integration/network/test_socket_server_ends.py"
WAITING = "tests/unit/replication/test_waiting_fetches.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a large answer counts against the memory of requests until it is sent",
        file="kafka_zk/network/request_memory.py",
        old="            self._memory.charge(size_bytes)\n",
        new="            size_bytes = 0\n",
        tests="tests/integration/network/test_socket_server_memory.py -k charged",
    ),
    Mutant(
        breaks="who takes nothing of its answer does not keep the memory that others wait for",
        file="kafka_zk/network/request_memory.py",
        old="            if connection.is_sending and connection.active_ns",
        new="            if connection.is_sending and 0 > connection.active_ns",
        tests="tests/integration/network/test_socket_server_memory.py -k takes_nothing",
    ),
    Mutant(
        breaks="no file gets the number of a closed standard stream",
        file="kafka_zk/standard_streams.py",
        old="os.O_RDWR)) <= 2:",
        new="os.O_RDWR)) < 0:",
        tests="tests/unit/tools/test_server_start_files.py",
    ),
    Mutant(
        breaks="a start with too few open files is refused in a sentence",
        file="kafka_zk/tools/server_start/__main__.py",
        old="    if limit < needed:\n",
        new="    if not needed:\n",
        tests="tests/unit/tools/test_server_start_files.py -k 64",
    ),
    Mutant(
        breaks="a user that no znode can be named after is not looked for",
        file="kafka_zk/admin/scram_credentials.py",
        old="    if user in NO_ZNODE_NAMES:\n",
        new="    if not user:\n",
        tests="tests/unit/admin/test_scram_names.py",
    ),
    Mutant(
        breaks="an index run looks at no byte behind those at hand",
        file="kafka_zk/record/runs.py",
        old="        if not HEADER_SIZE <= size <= len(data) - position:\n            break\n        last_offset",
        new="        last_offset",
        tests="tests/unit/record/test_runs.py -k lies",
    ),
    Mutant(
        breaks="scrapes that never end keep no descriptors from the logs",
        file="kafka_zk/metrics/http.py",
        old="            spawn=Pool(MAX_CONNECTIONS),\n",
        new="",
        tests="tests/unit/metrics/test_metrics_port.py",
    ),
    Mutant(
        breaks="a scrape that does not end is given up",
        file="kafka_zk/metrics/http.py",
        old="        self._end.again(self._end_socket)\n        timeout = gevent.Timeout.start_new(REQUEST_S)",
        new="        timeout = gevent.Timeout.start_new(None)\n        self._end.stop()",
        tests="tests/unit/metrics/test_metrics_port.py",
    ),
    Mutant(
        breaks="a stop does not wait for a client that is throttled",
        file="kafka_zk/network/connection.py",
        old="            parking.wait_woken_for((answers.muted_until_ns - time.monotonic_ns()) / 1e9)\n",
        new="            import gevent\n\n"
        "            gevent.sleep((answers.muted_until_ns - time.monotonic_ns()) / 1e9)\n",
        tests="tests/integration/network/test_socket_server_limits.py -k is_throttled",
    ),
    Mutant(
        breaks="history in memory is read without a thread",
        file="kafka_zk/network/transport.py",
        old="    if may_be_on_disk and not is_in_memory(",
        new="    if piece.is_cold or not is_in_memory(",
        tests="tests/integration/network/test_socket_server_slices.py -k history",
    ),
    Mutant(
        breaks="a small piece of history in memory leaves with what surrounds it",
        file="kafka_zk/network/transport.py",
        old="read_if_in_memory(part) if part.is_cold",
        new="None if part.is_cold",
        tests="tests/integration/network/test_socket_server_slices.py -k small_piece",
    ),
    Mutant(
        breaks="a hole in what is in memory is found",
        file="kafka_zk/network/page_cache.py",
        old="    if _counts_pages:\n",
        new="    if not _counts_pages:\n",
        tests="tests/unit/network/test_page_cache.py",
    ),
    Mutant(
        breaks="a partition that a fetch names again counts once",
        file="kafka_zk/replication/serving/fetch_context.py",
        old="    if wanted[1:]:\n",
        new="    if not wanted:\n",
        tests=WAITING,
    ),
    Mutant(
        breaks="a produce asks a waiting fetch about its own partition only",
        file="kafka_zk/replication/serving/delayed_fetch.py",
        old="        return self._is_enough_with([key])\n",
        new="        return self.try_complete()\n",
        tests=f"{WAITING} -k pays",
    ),
    Mutant(
        breaks="the bytes of a waiting fetch's partitions are counted once each",
        file="kafka_zk/replication/serving/delayed_fetch.py",
        old=" - self._sizes.get(key, 0)",
        new="",
        tests=WAITING,
    ),
    Mutant(
        breaks="what waits for a client that has gone is given up",
        file="kafka_zk/network/answer_queue.py",
        old="        self.leave(True)\n",
        new="",
        tests=f"{ENDS} -k told",
    ),
    Mutant(
        breaks="a client that goes while its request waits is noticed",
        file="kafka_zk/network/listener.py",
        old="            connection.look_for_end()\n",
        new="            pass\n",
        tests=f"{ENDS} -k gone",
    ),
    Mutant(
        breaks="what was asked before garbage is answered",
        file="kafka_zk/network/connection.py",
        old="                elif self._answers.waiting_count:\n                    parking.wait_woken()\n",
        new="                else:\n                    return\n",
        tests=f"{ENDS} -k garbage",
    ),
    Mutant(
        breaks="an answer that gets ready while the last ones are being sent is sent, too",
        file="kafka_zk/network/connection.py",
        old="                elif self._answers.waiting_count:\n                    parking.wait_woken()\n",
        new="                if self._answers.waiting_count:\n                    parking.wait_woken()\n",
        tests=ENDS,
    ),
    Mutant(
        breaks="a reader who reads on in one long answer is not idle",
        file="kafka_zk/network/parking.py",
        old="        self.writable_ns = time.monotonic_ns()\n",
        new="",
        tests=f"{ENDS} -k slow",
    ),
    Mutant(
        breaks="a request that hangs keeps no place of those whose clients are there",
        file="kafka_zk/network/connection.py",
        old="        self._leave_place()\n        if state == TCP_CLOSE:",
        new="        if state == TCP_CLOSE:",
        tests=f"{ENDS} -k hangs",
    ),
    Mutant(
        breaks="a topic request that waits ends with its connection",
        file="kafka_zk/api/admin/create_topics.py",
        old="    answer.when_left(waiting_for.leave)\n",
        new="",
        tests="tests/unit/api/test_left_waits.py -k create_topics",
    ),
    Mutant(
        breaks="an election whose client has gone is not waited for",
        file="kafka_zk/api/admin/elect_leaders.py",
        old="        elif True not in left:\n",
        new="        else:\n",
        tests="tests/simulation/test_controller_apis.py -k has_gone",
    ),
    Mutant(
        breaks="the metrics port answers HEAD without a body",
        file="kafka_zk/metrics/http.py",
        old='    return [] if method == "HEAD" else body\n',
        new="    return body\n",
        tests="tests/unit/metrics/test_metrics_port.py -k head_that_was_asked_for",
    ),
)
