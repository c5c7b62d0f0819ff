"""What a tool tells at its end, on which stream, with which exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_zk.tools.common.endings import exit_code_of, tell_as_thrown, tell_with_trace, thrown_by_main
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import UsageError, VersionAsked, usage_of

EXCEPTION = "java.lang.IllegalStateException"


def raising(error: BaseException) -> Callable[[], int]:
    def body() -> int:
        raise error

    return body


@pytest.mark.parametrize(
    ("body", "code", "out", "err"),
    [
        (lambda: None, 0, "", ""),
        (lambda: 7, 7, "", ""),
        (raising(VersionAsked()), 0, "3.9.1\n", ""),
        (raising(UsageError("So not.")), 1, "", f"So not.\n{usage_of('topics')}"),
        (raising(Refused("Never.")), 1, "", "Never.\n"),
        (raising(JavaError("why", EXCEPTION)), 1, "", f"why\n{EXCEPTION}: why\n\n"),
        (raising(JavaError(None, EXCEPTION)), 1, "", f"null\n{EXCEPTION}\n\n"),
    ],
)
def test_an_ending(
    body: Callable[[], int | None], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(body, tool="topics") == code
    assert capsys.readouterr() == (out, err)


def test_a_tool_may_tell_in_its_own_way_what_it_is_prepared_for(capsys: pytest.CaptureFixture[str]) -> None:
    error = JavaError("why", EXCEPTION)
    assert exit_code_of(raising(error), tool="topics", tell=tell_as_thrown) == 1
    assert capsys.readouterr().err == thrown_by_main(error) == f'Exception in thread "main" {EXCEPTION}: why\n'
    assert exit_code_of(raising(KeyError(1)), tool="topics", tell=lambda _: None, failures=(KeyError,)) == 1
    with pytest.raises(KeyError):
        exit_code_of(raising(KeyError(1)), tool="topics", tell=tell_with_trace)


PRINTING = """
import sys
from kafka_zk.tools.common.endings import run_as_program
from kafka_zk.standard_streams import forgive
from kafka_zk.tools.common.program import run_program
def main(*_):
    print("a" * 100_000)
    print("b", file=sys.stderr)
    return 3
def load():
    if sys.argv[1] == "to the end":
        forgive("stdout")
    return main
if sys.argv[1] != "by itself":
    run_program(load)
sys.exit(run_as_program(main))
"""
WHERE = [">&-", "2>&-", ">&- 2>&- <&-", ">/dev/full", "2>/dev/full", "2> >(true)", "| true"]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", ["by itself", "to the end", "until nobody reads"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_tool_that_cannot_print_ends_as_if_it_could(where: str, kind: str, unbuffered: str) -> None:
    notices = kind == "until nobody reads" and where in (">/dev/full", "| true")
    shell = f'"$0" -c "$1" "$2" {where}; echo "${{PIPESTATUS[0]}}" >&9'
    done = subprocess.run(
        ["bash", "-c", f"exec 9>&1; {shell}", sys.executable, PRINTING, kind],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert done.stdout.splitlines()[-1] == ("0" if notices else "3")
    assert done.stderr in ("", "b\n")


@pytest.mark.parametrize(("kind", "code"), [("by itself", "3"), ("to the end", "3"), ("until nobody reads", "0")])
def test_a_tool_whose_output_may_not_grow_ends_as_if_it_could(tmp_path: Path, kind: str, code: str) -> None:
    """ulimit -f, or a quota."""
    shell = '(ulimit -f 8; exec "$0" -c "$1" "$2" >"$3"); echo $?'
    done = subprocess.run(
        ["bash", "-c", shell, sys.executable, PRINTING, kind, str(tmp_path / "output")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == f"{code}\n"
    assert done.stderr in ("", "b\n")


@pytest.mark.parametrize(("thrown", "is_told"), [("KeyboardInterrupt", False), ("ZeroDivisionError", True)])
def test_ctrl_c_is_not_told_of_while_a_tool_is_imported(thrown: str, is_told: bool) -> None:
    """The list of arguments is what `python -m` shows while it looks for the module."""
    program = f"import sys; sys.argv = ['-m']; import kafka_zk.tools; raise {thrown}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert (thrown in done.stderr) == bool(done.stderr) == is_told
