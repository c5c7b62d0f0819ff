import errno
import io
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_zk.broker.logs.files import (
    LogFile,
    NeverRolling,
    RollingByDate,
    RollingBySize,
    size_in_bytes,
    strftime_format,
)
from kafka_zk.broker.logs.layout import PatternFormatter
from kafka_zk.broker.logs.levels import LogLevels
from kafka_zk.broker.logs.queue import ConsoleDestination, LogQueue
from kafka_zk.broker.logs.setup import LoggingSystem, start_logging
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import read_file
from kafka_zk.config.shipped import shipped_config
from tests.support.processes import wait_until

KAFKA_LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO started \(kafka\.test\.KafkaServer\)\n")
DAY_S = 86_400
NAMES = (None, "kafka", "kafka.test", "kafka.controller", "kazoo", "state.change.logger")


@pytest.fixture
def system(request: pytest.FixtureRequest) -> Iterator[LoggingSystem]:
    """A logging system, and every logger as it was before once the test is over."""
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger, logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    system = LoggingSystem()
    yield system
    system.close()
    for logger, level, propagate, handlers in before:
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers


def given_file_appender(path: Path, **more: str) -> dict[str, str]:
    prefix = "log4j.appender.file"
    settings = {prefix: "org.apache.log4j.FileAppender", prefix + ".File": str(path)}
    return settings | {f"{prefix}.{key}": value for key, value in more.items()}


def test_lines_look_as_kafkas(system: LoggingSystem, tmp_path: Path):
    path = tmp_path / "server.log"
    system.configure(given_file_appender(path) | {"log4j.logger.kafka.test": "INFO, file"}, log_dir=tmp_path)
    logging.getLogger("kafka.test.KafkaServer").info("started")
    logging.getLogger("kafka.test.KafkaServer").debug("not shown")
    system.close()
    assert KAFKA_LINE.fullmatch(path.read_text())


def test_an_error_brings_its_traceback(system: LoggingSystem, tmp_path: Path):
    path = tmp_path / "server.log"
    system.configure(given_file_appender(path) | {"log4j.logger.kafka.test": "INFO, file"}, log_dir=tmp_path)
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("kafka.test").exception("failed")
    system.close()
    lines = path.read_text().splitlines()
    assert lines[0].endswith("ERROR failed (kafka.test)")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: why"


def test_the_shipped_configuration_divides_the_log_as_operators_expect(system: LoggingSystem, tmp_path: Path):
    properties = read_file(shipped_config("log4j.properties"))
    properties = {key: value.replace(", stdout", "") for key, value in properties.items()}
    system.configure(properties, log_dir=tmp_path)
    logging.getLogger("kafka.controller.KafkaController").info("elected")
    logging.getLogger("state.change.logger").info("changed")
    logging.getLogger("kafka.log.LogCleaner").info("cleaned")
    logging.getLogger("kafka.server.KafkaServer").info("started")
    system.close()
    shown = {path.name: path.read_text().split("] ", 1)[1] for path in tmp_path.iterdir()}
    assert shown == {
        "server.log": "INFO started (kafka.server.KafkaServer)\n",
        "controller.log": "INFO elected (kafka.controller.KafkaController)\n",
        "log-cleaner.log": "INFO cleaned (kafka.log.LogCleaner)\n",
        "state-change.log": "INFO changed (state.change.logger)\n",
    }


@pytest.mark.usefixtures("system")
def test_the_environment_names_the_directory_and_the_configuration(tmp_path: Path):
    settings = tmp_path / "log4j.properties"
    settings.write_text(
        "log4j.logger.kafka.test=INFO, file\n"
        "log4j.appender.file=org.apache.log4j.FileAppender\n"
        "log4j.appender.file.File=${kafka.logs.dir}/own.log\n"
    )
    options = f"-Dother=1 -Dlog4j.configuration=file:{settings}"
    started = start_logging({"LOG_DIR": str(tmp_path / "logs"), "KAFKA_LOG4J_OPTS": options})
    logging.getLogger("kafka.test.KafkaServer").info("started")
    started.close()
    assert KAFKA_LINE.fullmatch((tmp_path / "logs" / "own.log").read_text())


@pytest.mark.usefixtures("system")
def test_a_log_configuration_that_cannot_be_used_is_told_and_the_shipped_one_taken(tmp_path: Path):
    started = start_logging({"LOG_DIR": str(tmp_path), "KAFKA_LOG4J_OPTS": "-Dlog4j.configuration=file:/nowhere"})
    started.close()
    assert "Ignoring the log configuration /nowhere" in (tmp_path / "server.log").read_text()


def test_levels_change_at_run_time(system: LoggingSystem, tmp_path: Path):
    path = tmp_path / "server.log"
    system.configure(given_file_appender(path) | {"log4j.logger.kafka.test": "INFO, file"}, log_dir=tmp_path)
    LogLevels().set("kafka.test", "trace")
    assert LogLevels().all()["kafka.test"] == "TRACE"
    logging.getLogger("kafka.test").log(5, "detail")
    LogLevels().unset("kafka.test")
    assert LogLevels().all()["kafka.test"] == LogLevels().all()["root"]
    system.close()
    assert "] TRACE detail (kafka.test)" in path.read_text()


def test_an_unknown_level_and_a_level_less_root_are_refused():
    with pytest.raises(ConfigException, match="LOUD is not a log level"):
        LogLevels().set("kafka.test", "LOUD")
    with pytest.raises(ConfigException, match="cannot be unset"):
        LogLevels().unset("root")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"log4j.rootLogger": "INFO, nowhere"}, "unknown appender nowhere"),
        ({"log4j.appender.x": "org.apache.log4j.net.SMTPAppender"}, "not supported"),
        ({"log4j.appender.x": "org.apache.log4j.FileAppender"}, "has no log4j.appender.x.File"),
    ],
)
def test_a_log_configuration_that_is_not_understood_is_refused(
    system: LoggingSystem, settings: dict[str, str], complaint: str
):
    with pytest.raises(ConfigException, match=complaint):
        system.configure(settings, log_dir="/nowhere")


def test_a_blocked_destination_costs_lines_and_never_time():
    let_go = threading.Event()
    entered = threading.Event()
    written: list[bytes] = []

    def blocked_write(file_descriptor: int, data: bytes) -> int:
        entered.set()
        let_go.wait(10)
        written.append(bytes(data))
        return len(data)

    log_queue = LogQueue("test", capacity=3)
    console = ConsoleDestination(1, blocked_write)
    log_queue.put(console, b"first\n")
    assert entered.wait(10)
    for number in range(10):
        log_queue.put(console, b"%d\n" % number)
    assert log_queue.dropped_count == 7
    let_go.set()
    log_queue.close()
    # What waited leaves in one write.
    assert written == [b"first\n", b"0\n1\n2\n"]


def test_lost_lines_are_told_once_lines_flow_again():
    written: list[bytes] = []

    def write(file_descriptor: int, data: bytes) -> int:
        written.append(bytes(data))
        return len(data)

    log_queue = LogQueue("test", capacity=0)
    console = ConsoleDestination(1, write)
    log_queue.put(console, b"lost\n")
    log_queue._capacity = 10
    log_queue.put(console, b"kept\n")
    log_queue.close()
    assert b"".join(written) == b"[1 log lines were lost: the log could not keep up]\nkept\n"


def test_a_file_that_cannot_be_written_is_told_once_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", told)
    (tmp_path / "a-directory").mkdir()
    bad = LogFile(tmp_path / "a-directory", NeverRolling())
    good = LogFile(tmp_path / "good.log", NeverRolling())
    log_queue = LogQueue("test")
    log_queue.put(bad, b"line\n")
    wait_until(told.getvalue, "the first line was tried")
    for _ in range(2):
        log_queue.put(bad, b"line\n")
    log_queue.put(good, b"line\n")
    log_queue.close()
    good.close()
    assert (tmp_path / "good.log").read_bytes() == b"line\n"
    assert told.getvalue().count("Cannot write a log") == 1


def test_a_console_that_cannot_be_written_is_told_once(monkeypatch: pytest.MonkeyPatch):
    told = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", told)
    tries: list[bytes] = []

    def write(file_descriptor: int, data: bytes) -> int:
        tries.append(data)
        raise OSError(errno.EIO, "Input/output error")

    log_queue = LogQueue("test")
    console = ConsoleDestination(1, write)
    for count in (1, 2, 3):
        log_queue.put(console, b"line\n")
        wait_until(lambda count=count: len(tries) == count, "the line was tried")
    log_queue.close()
    assert told.getvalue().count("Cannot write a log") == 1


class _Gone(io.StringIO):
    """The standard error of a broker whose terminal was closed."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


class _Full(io.RawIOBase):
    """A file on a disk without space."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def fill_disk_under(file: LogFile, waiting: bytes = b"") -> None:
    """What was not flushed yet cannot be written any more."""
    file._file = io.BufferedWriter(_Full())
    file._file.write(waiting)


def test_a_file_that_cannot_be_written_stops_nothing_though_nobody_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "__stderr__", _Gone())
    (tmp_path / "a-directory").mkdir()
    bad, good = LogFile(tmp_path / "a-directory", NeverRolling()), LogFile(tmp_path / "good.log", NeverRolling())
    log_queue = LogQueue("test")
    log_queue.put(bad, b"line\n")
    wait_until(lambda: log_queue._failing or not log_queue._thread.is_alive(), "the first line was tried")
    log_queue.put(good, b"line\n")
    log_queue.close()
    good.close()
    assert (tmp_path / "good.log").read_bytes() == b"line\n"


def test_a_file_that_rolls_while_the_disk_is_full_is_written_again_once_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    file = LogFile(tmp_path / "server.log", RollingBySize(20, 1))
    file.write(b"0123456789\n", 0)
    file.flush()
    fill_disk_under(file, b"lost\n")
    log_queue = LogQueue("test")
    log_queue.put(file, b"0123456789\n")
    wait_until(lambda: log_queue._failing or not log_queue._thread.is_alive(), "the roll was tried")
    log_queue.put(file, b"later\n")
    log_queue.close()
    file.close()
    assert (tmp_path / "server.log").read_bytes() == b"0123456789\nlater\n"


def test_a_stop_with_a_full_disk_writes_the_other_logs(system: LoggingSystem, tmp_path: Path):
    system.configure(given_file_appender(tmp_path / "full.log"), log_dir=tmp_path)
    full = system._destinations[0]
    assert isinstance(full, LogFile)
    fill_disk_under(full, b"lost\n")
    good = LogFile(tmp_path / "good.log", NeverRolling())
    good.write(b"line\n", 0)
    system._destinations.append(good)
    system.close()
    assert (tmp_path / "good.log").read_bytes() == b"line\n"


def no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def put_without_a_thread(log_queue: LogQueue, file: LogFile, *lines: bytes) -> None:
    """Log them while the system has no thread for the queue."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        for line in lines:
            log_queue.put(file, line)


def test_lines_wait_for_a_thread_that_cannot_be_started(tmp_path: Path):
    file = LogFile(tmp_path / "server.log", NeverRolling())
    log_queue = LogQueue("test")
    put_without_a_thread(log_queue, file, b"one\n")
    log_queue.put(file, b"two\n")
    log_queue.close()
    file.close()
    assert (tmp_path / "server.log").read_bytes() == b"one\ntwo\n"


def test_more_lines_than_can_wait_for_a_thread_do_not_keep_it_from_being_started(tmp_path: Path):
    file = LogFile(tmp_path / "server.log", NeverRolling())
    log_queue = LogQueue("test", capacity=2)
    put_without_a_thread(log_queue, file, b"one\n", b"two\n", b"lost\n")
    log_queue.put(file, b"starts it\n")
    assert log_queue._thread.is_alive()
    log_queue.close()
    file.close()
    assert (tmp_path / "server.log").read_bytes().startswith(b"one\ntwo\n")


def test_lines_that_wait_for_a_thread_are_written_at_the_end(tmp_path: Path):
    file = LogFile(tmp_path / "server.log", NeverRolling())
    log_queue = LogQueue("test")
    put_without_a_thread(log_queue, file, b"one\n")
    log_queue.close()
    file.close()
    assert (tmp_path / "server.log").read_bytes() == b"one\n"


def test_who_logs_while_the_thread_is_started_starts_no_second_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two would write into one file at once. A start waits for its thread, and other threads log meanwhile."""
    file = LogFile(tmp_path / "server.log", NeverRolling())
    log_queue = LogQueue("test")
    starts: list[threading.Thread] = []

    def start_slowly(thread: threading.Thread, start: Callable[[threading.Thread], None] = threading.Thread.start):
        starts.append(thread)
        if len(starts) == 1:
            log_queue.put(file, b"another\n")
            start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_slowly)
    log_queue.put(file, b"first\n")
    log_queue.close()
    file.close()
    assert len(starts) == 1
    assert (tmp_path / "server.log").read_bytes() == b"another\nfirst\n"


def test_a_file_rolls_when_its_period_is_over(tmp_path: Path):
    path = tmp_path / "server.log"
    file = LogFile(path, RollingByDate("'.'yyyy-MM-dd"))
    noon_s = 1_700_000_000.0
    file.write(b"one\n", noon_s)
    file.write(b"two\n", noon_s + 1)
    file.write(b"three\n", noon_s + DAY_S)
    file.close()
    rolled = [entry for entry in tmp_path.iterdir() if entry != path]
    assert [re.fullmatch(r"server\.log\.2023-11-1[45]", entry.name) is not None for entry in rolled] == [True]
    assert rolled[0].read_bytes() == b"one\ntwo\n"
    assert path.read_bytes() == b"three\n"


def test_a_file_of_an_earlier_run_rolls_under_its_own_date(tmp_path: Path):
    path = tmp_path / "server.log"
    path.write_bytes(b"old\n")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    file = LogFile(path, RollingByDate("'.'yyyy"))
    file.write(b"new\n", 1_700_000_000.0)
    file.close()
    assert (tmp_path / "server.log.2020").read_bytes() == b"old\n"
    assert path.read_bytes() == b"new\n"


def test_a_file_rolls_before_it_outgrows_its_size_and_the_oldest_goes(tmp_path: Path):
    path = tmp_path / "server.log"
    file = LogFile(path, RollingBySize(10, 2))
    for number in range(4):
        file.write(b"line %d\n" % number, 0.0)
    file.close()
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {
        "server.log": b"line 3\n",
        "server.log.1": b"line 2\n",
        "server.log.2": b"line 1\n",
    }


@pytest.mark.parametrize(
    ("pattern", "line"),
    [("%m", "text"), ("%-7p|%m", "WARN   |text"), ("%5p %%", " WARN %"), ("%c{1}: %m%n", "a.b: text\n")],
)
def test_patterns_are_log4js(pattern: str, line: str):
    record = logging.LogRecord("a.b", logging.WARNING, "file", 1, "text", None, None)
    assert PatternFormatter(pattern).format(record) == line


def test_a_record_is_shown_in_each_appenders_own_pattern():
    record = logging.LogRecord("a.b", logging.WARNING, "file", 1, "text", None, None)
    assert [PatternFormatter(pattern).format(record) for pattern in ("%m", "%p", "%m")] == ["text", "WARN", "text"]


def test_an_unknown_conversion_is_refused():
    with pytest.raises(ConfigException, match="unknown conversion"):
        PatternFormatter("%q %m")


def test_date_patterns_and_sizes_are_log4js():
    assert strftime_format("'.'yyyy-MM-dd-HH") == ".%Y-%m-%d-%H"
    assert size_in_bytes("100MB") == 100 * 1024 * 1024
    with pytest.raises(ConfigException):
        strftime_format("'.'ww")
    with pytest.raises(ConfigException):
        size_in_bytes("much")
