"""The same command lines given to one of Apache's tools and to ours, and what they print made comparable."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.allowed import allowed
from tests.support.apache import ToolRun, java
from tests.support.masks import Mask, masked

HARNESS = Path(__file__).with_name("ToolRuns.java")
# The console appender must write to whatever System.err is at the time.
LOG4J = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.follow=true
"""

Arguments = Sequence[str]
NO_INPUTS: Mapping[int, str] = {}


def run_apache(
    main_class: str,
    command_lines: Sequence[Arguments],
    folder: Path,
    inputs: Mapping[int, str] = NO_INPUTS,
    *,
    class_path: str | None = None,
) -> list[ToolRun]:
    """Run Apache's tool with each command line in turn, in one virtual machine; `inputs` by the line's index.

    `class_path` has the tools of another release.
    """
    lines, log4j = folder / "command-lines", folder / "log4j.properties"
    lines.write_text("".join("\t".join(arguments) + "\n" for arguments in command_lines))
    for old in folder.glob("command-lines.*"):
        old.unlink()
    for index, text in inputs.items():
        lines.with_name(f"command-lines.{index}").write_text(text)
    log4j.write_text(LOG4J)
    command = java(str(HARNESS), main_class, str(lines), class_path=class_path)
    command = [f"-Dlog4j.configuration=file:{log4j}" if part.startswith("-Dlog4j") else part for part in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    runs = []
    for line in done.stdout.splitlines():
        code, out, err = line.split(" ")
        runs.append(ToolRun(int(code), _decode(out), _decode(err)))
    assert len(runs) == len(command_lines), done.stderr
    return runs


def _decode(text: str) -> str:
    return base64.b64decode(text[1:]).decode()


def run_ours(
    main: Callable[[Sequence[str]], int], command_lines: Sequence[Arguments], inputs: Mapping[int, str] = NO_INPUTS
) -> list[ToolRun]:
    """Run our tool the same way, in this process."""
    return [run_once(main, arguments, inputs.get(index, "")) for index, arguments in enumerate(command_lines)]


def run_once(main: Callable[[Sequence[str]], int], arguments: Arguments, standard_input: str = "") -> ToolRun:
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryFile("w+") as given, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        given.write(standard_input)
        given.flush()
        os.lseek(given.fileno(), 0, os.SEEK_SET)
        before, sys.stdin = sys.stdin, given
        try:
            code = main(arguments)
        finally:
            sys.stdin = before
    return ToolRun(code, out.getvalue(), err.getvalue())


_IDS = allowed("ids-and-times", by_chance=True)
_RACE = allowed("races-of-clients", by_chance=True)
_FRAMES = allowed("java-frames")
MASKS = (
    Mask(re.compile(r"TopicId: [A-Za-z0-9_-]{22}"), "TopicId: <id>", _IDS),
    Mask(re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]"), "[<time>]", _IDS),
    Mask(re.compile(r"^\t+at .*\n", re.MULTILINE), "", _FRAMES),
    Mask(re.compile(r"^\t+\.\.\. \d+ more\n", re.MULTILINE), "", _FRAMES),
    # Apache's client connects in a thread of its own: whether and how often it says so is a race.
    Mask(
        re.compile(r"^\[<time>\] WARN .* Connection to node .* could not be established.*\n", re.MULTILINE), "", _RACE
    ),
    # Clients of one process are counted.
    Mask(re.compile(r"clientId=adminclient-\d+"), "clientId=adminclient-<number>", _IDS),
    # Which of three things a call was doing when its time was over is a race.
    Mask(
        re.compile(
            r"Call\(callName=([^,]+), deadlineMs=-?\d+, tries=\d+, nextAllowedTryMs=-?\d+\) "
            r"timed out at -?\d+ after \d+ attempt\(s\)"
        ),
        r"Timed out waiting for a node assignment. Call: \1",
        _RACE,
    ),
    Mask(re.compile(r"Timed out waiting to send the call\."), "Timed out waiting for a node assignment.", _RACE),
    Mask(re.compile(r"^\[<time>\] WARN .* Bootstrap broker .* disconnected .*\n", re.MULTILINE), "", _RACE),
)


def comparable(run: ToolRun) -> ToolRun:
    """The run without what differs between two runs of one tool."""
    return ToolRun(run.exit_code, _plain(run.stdout), _plain(run.stderr))


def _plain(text: str) -> str:
    return masked(text, MASKS)


def differences(command_lines: Sequence[Arguments], theirs: Sequence[ToolRun], ours: Sequence[ToolRun]) -> list[str]:
    """One text for each command line whose two runs differ."""
    return [
        f"{' '.join(arguments)}\n  Apache: {comparable(their)}\n  ours:   {comparable(our)}"
        for arguments, their, our in zip(command_lines, theirs, ours, strict=True)
        if comparable(their) != comparable(our)
    ]


IMPATIENT = "impatient.properties"
"""So are files named with which a command line gives its calls a second or two."""

MOST_TIMES_ASKED = 4

Asked = Callable[[Sequence[Arguments]], Sequence[ToolRun]]


def unlike(
    lines_of_theirs: Sequence[Arguments], lines_of_ours: Sequence[Arguments], ask_theirs: Asked, ask_ours: Asked
) -> list[str]:
    """One text for each command line whose two runs differ; the runs that are asked for are compared as they come.

    A program that waits for its turn longer than its calls may take fails at another place than one that has it. So an
    impatient command line whose runs differ is run again by both tools: what differs by itself differs each time.
    """
    theirs, ours = list(ask_theirs(lines_of_theirs)), list(ask_ours(lines_of_ours))
    for _ in range(MOST_TIMES_ASKED - 1):
        again = [
            index
            for index, arguments in enumerate(lines_of_ours)
            if any(IMPATIENT in word for word in arguments) and comparable(theirs[index]) != comparable(ours[index])
        ]
        if not again:
            break
        retried = ask_theirs([lines_of_theirs[index] for index in again])
        retried_of_ours = ask_ours([lines_of_ours[index] for index in again])
        for index, their, our in zip(again, retried, retried_of_ours, strict=True):
            theirs[index], ours[index] = their, our
    return differences(lines_of_ours, theirs, ours)
