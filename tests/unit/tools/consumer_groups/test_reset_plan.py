"""The CSV that --export writes and --from-file reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.consumer_groups.options import parsed
from kafka_zk.tools.consumer_groups.reset_plan import Plan, csv_line, read_plan

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def plan(folder: Path, text: str, *groups: str) -> Plan:
    path = folder / "plan.csv"
    path.write_text(text)
    named = [word for group in groups for word in ("--group", group)]
    always = ["--bootstrap-server", "b", "--reset-offsets", "--dry-run", "--from-file", str(path)]
    return read_plan(parsed([*always, *named]))


def test_a_plan_of_one_group_needs_no_group(tmp_path: Path) -> None:
    assert plan(tmp_path, "t,0,5\nt,1,6\n", "g") == {"g": {T0: 5, T1: 6}}


def test_a_plan_of_several_groups_names_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {"g": {T0: 5}, "h": {T1: 6}}
    assert plan(tmp_path, "g,t,0,5\nh,t,1,6\n", "g", "h") == expected
    assert "InvalidFormatException" in capsys.readouterr().err
    assert plan(tmp_path, "g,t,0,5\nh,t,1,6\n", "g") == expected


def test_a_number_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match='from String "x": not a valid `int` value'):
        plan(tmp_path, "t,0,5\nt,x,6\n", "g")


def test_a_negative_offset_is_no_argument(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"^Invalid negative offset$") as refused:
        plan(tmp_path, "t,0,5\nt,1,-6\n", "g")
    assert refused.value.java_class == "java.lang.IllegalArgumentException"


@pytest.mark.parametrize(
    ("group", "topic", "expected"),
    [
        ((), "t", "t,1,7\n"),
        (("g",), "t", "g,t,1,7\n"),
        (("a b",), "t", '"a b",t,1,7\n'),
        (('a"b',), "t", '"a""b",t,1,7\n'),
        (("a,b",), "x" * 24, f'"a,b",{"x" * 24},1,7\n'),
        ((), "x" * 25, f'"{"x" * 25}",1,7\n'),
    ],
)
def test_texts_are_quoted_where_jackson_quotes_them(group: tuple[str, ...], topic: str, expected: str) -> None:
    assert csv_line(group, TopicPartition(topic, 1), 7) == expected


def test_what_was_exported_is_read_again(tmp_path: Path) -> None:
    text = csv_line(('a "strange", group',), TopicPartition("x" * 30, 3), 12)
    assert plan(tmp_path, text, "g", "h") == {'a "strange", group': {TopicPartition("x" * 30, 3): 12}}
