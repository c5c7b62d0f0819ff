"""Command lines that two tools answer otherwise: which are asked again, and what is reported all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.interop.tools.runs import MOST_TIMES_ASKED, Arguments, unlike
from tests.support.apache import ToolRun

PATIENT, IMPATIENT = ["--list"], ["--list", "--command-config", "F/impatient.properties"]
GOOD, LATE = ToolRun(1, "", "no such topic\n"), ToolRun(1, "", "timed out\n")


class Tool:
    """Answers each command line with the next of its runs, and with the last one from then on."""

    def __init__(self, **runs: Sequence[ToolRun]) -> None:
        self.asked: list[Arguments] = []
        self._runs: dict[str, Iterator[ToolRun]] = {name: iter(each) for name, each in runs.items()}
        self._last: dict[str, ToolRun] = {}

    def __call__(self, lines: Sequence[Arguments]) -> list[ToolRun]:
        self.asked += lines
        names = ["impatient" if line == IMPATIENT else "patient" for line in lines]
        for name in names:
            self._last[name] = next(self._runs[name], self._last.get(name, GOOD))
        return [self._last[name] for name in names]


def differing(theirs: Tool, ours: Tool) -> list[str]:
    lines = [PATIENT, IMPATIENT]
    return unlike(lines, lines, theirs, ours)


def test_equal_answers_are_asked_for_once() -> None:
    theirs, ours = Tool(patient=[GOOD], impatient=[LATE]), Tool(patient=[GOOD], impatient=[LATE])
    assert differing(theirs, ours) == []
    assert theirs.asked == ours.asked == [PATIENT, IMPATIENT]


def test_an_impatient_line_that_one_tool_was_late_with_is_asked_of_both_again() -> None:
    theirs, ours = Tool(patient=[GOOD], impatient=[LATE, GOOD]), Tool(patient=[GOOD], impatient=[GOOD])
    assert differing(theirs, ours) == []
    assert theirs.asked == ours.asked == [PATIENT, IMPATIENT, IMPATIENT]


def test_what_differs_each_time_is_reported() -> None:
    theirs, ours = Tool(patient=[GOOD], impatient=[GOOD]), Tool(patient=[GOOD], impatient=[LATE])
    (found,) = differing(theirs, ours)
    assert "no such topic" in found and "timed out" in found
    assert theirs.asked.count(IMPATIENT) == ours.asked.count(IMPATIENT) == MOST_TIMES_ASKED


def test_a_patient_line_has_one_answer() -> None:
    theirs, ours = Tool(patient=[LATE, GOOD], impatient=[GOOD]), Tool(patient=[GOOD], impatient=[GOOD])
    assert len(differing(theirs, ours)) == 1
    assert theirs.asked.count(PATIENT) == 1


def test_an_exit_code_alone_makes_a_difference() -> None:
    theirs = Tool(patient=[GOOD], impatient=[GOOD])
    assert len(differing(theirs, Tool(patient=[GOOD], impatient=[ToolRun(0, "", GOOD.stderr)]))) == 1
