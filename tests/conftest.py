"""What all suites share: --full, no skips where CI must see everything, and which of compiled and source is tested."""

from __future__ import annotations

import gc
import os
import random
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import in_full, interpreted, machine, seeds
from tests.support.side_by_side import SPARK, Scheduling, group_of

if refusal := interpreted.choose():
    pytest.exit(refusal, returncode=2)

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


# What a script runs in the background ignores Ctrl-C, and so does all that it starts; tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# And under nohup the end of a terminal, which this run goes on to pass over.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


MANY_DESCRIPTORS = 200
"""A machine may allow 1,024."""


@pytest.fixture(autouse=True)
def few_descriptors() -> Iterator[None]:
    """Files of a log that a test just left, as a crash would, are closed when Python's collector finds it: in time."""
    yield
    if len(os.listdir("/proc/self/fd")) > MANY_DESCRIPTORS:
        gc.collect()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run what does not fit in CI (marked slow)")
    parser.addoption("--fuzz-minutes", type=float, default=1, help="how long the fuzz before logins lasts with --full")
    parser.addoption("--away-minutes", type=float, default=0, help="how long a broker is away with --full; 0: as if")
    seeds.add_option(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    seeds.choose(config, getattr(config, "workerinput", {}).get("seed"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Processes side by side share the run's seed."""
    node.workerinput["seed"] = node.config.stash[seeds.SEED]


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.stash[seeds.SEED]}"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Of what a test leaves to chance; a second try has the same one."""
    return request.config.stash[seeds.SEED]


@pytest.fixture
def chance(seed: int) -> random.Random:
    """What happens when, decided by the run's seed."""
    return random.Random(seed)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out (a skip is a failure in CI) slow tests unless --full was given, and those that need sources.

    What shares nothing with the rest of the machine gets no second try.
    """
    for item in items:
        if in_full.is_once_more(item.nodeid):
            item.add_marker(pytest.mark.slow)
    unwanted = set() if config.getoption("--full") else {"slow"}
    if not interpreted.INTERPRETED:
        unwanted.add("interpreted")
    left_out = [item for item in items if any(item.get_closest_marker(name) for name in unwanted)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if not machine.is_shared_by(item.nodeid):
            item.add_marker(pytest.mark.flaky(reruns=0))
    items.sort(key=lambda item: group_of(item.nodeid) != SPARK)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """With CI=true a skipped test is a failure: what CI does not run, CI does not show."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    if report.failed:
        report.sections.append(("again", seeds.again(item.config, item.nodeid, call.excinfo and call.excinfo.value)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each second try with the error of the first."""
    tries = seeds.second_tries(terminalreporter)
    for nodeid, error in tries:
        terminalreporter.write_line(f"SECOND TRY {nodeid}: {error}", yellow=True)
    if len(tries) > seeds.MOST_SECOND_TRIES:
        terminalreporter.write_line(f"{len(tries)} second tries, {seeds.MOST_SECOND_TRIES} are the most", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Too many second tries fail the suite."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and len(seeds.second_tries(terminal)) > seeds.MOST_SECOND_TRIES:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
