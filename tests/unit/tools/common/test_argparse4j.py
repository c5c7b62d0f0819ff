"""Arguments are read, and refused, as argparse4j does it. Whole texts are in test_console_refusals."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.argparse4j import INTEGER, Argument, ArgumentError, ArgumentParser, HelpAsked, Kind, wrapped

PARSER = ArgumentParser(
    "producer-performance",
    (
        Argument("--topic", required=True),
        Argument("--count", INTEGER, default=7),
        Argument("--props", kind=Kind.SOME),
        Argument("--quiet", kind=Kind.FLAG),
        Argument("--red", group="colour"),
        Argument("--blue", kind=Kind.FLAG, group="colour"),
    ),
    "producer_perf_test",
)
ENOUGH = ("--topic", "t", "--blue")


def refusal(*words: str) -> str:
    with pytest.raises(ArgumentError) as caught:
        PARSER.parse(words)
    return str(caught.value)


def test_what_is_not_given_has_its_default() -> None:
    assert PARSER.parse(ENOUGH) == {
        "topic": "t",
        "count": 7,
        "props": None,
        "quiet": False,
        "red": None,
        "blue": True,
    }


@pytest.mark.parametrize("words", [("--count", "-3"), ("--count=-3",), ("--c", "-3"), ("--count", "1", "--cou=-3")])
def test_a_value_may_follow_in_these_ways(words: tuple[str, ...]) -> None:
    assert PARSER.parse((*ENOUGH, *words))["count"] == -3


def test_some_values_end_where_an_option_begins() -> None:
    assert PARSER.parse(("--props", "a=b", "c", *ENOUGH))["props"] == ["a=b", "c"]
    assert PARSER.parse(("--props=a", *ENOUGH))["props"] == ["a"]


def test_a_beginning_of_two_names_is_ambiguous() -> None:
    parser = ArgumentParser("x", (Argument("--producer-props"), Argument("--producer.config")), "x")
    with pytest.raises(
        ArgumentError, match=r"^ambiguous option: --prod could match --producer-props, --producer\.config$"
    ):
        parser.parse(("--prod", "a"))


def test_of_what_is_missing_the_last_is_named_and_options_before_groups() -> None:
    assert refusal() == "argument --topic is required"
    assert refusal("--topic", "t") == "one of the arguments --red --blue is required"


def test_two_of_a_group_are_too_many() -> None:
    assert refusal(*ENOUGH, "--red", "x") == "argument --red: not allowed with argument --blue"


def test_help_is_met_where_it_stands() -> None:
    with pytest.raises(HelpAsked):
        PARSER.parse(("--topic", "t", "-h", "--bogus"))
    assert refusal("--bogus", "-h") == "unrecognized arguments: '--bogus'"


def test_a_filled_line_has_its_wider_gaps_in_the_middle() -> None:
    line, rest = wrapped(" ".join(["word"] * 16)).split("\n")
    assert rest == "word"
    assert len(line) == 75
    assert line == " ".join(["word"] * 8) + "  " + " ".join(["word"] * 7)


@pytest.mark.parametrize(("typed", "meant"), [("--topics", "--topic"), ("--tpic", "--topic"), ("--zzzzzzzzz", None)])
def test_a_similar_name_is_suggested(typed: str, meant: str | None) -> None:
    with pytest.raises(ArgumentError) as caught:
        PARSER.parse((typed,))
    text = PARSER.refusal(caught.value)
    assert ("Did you mean:" in text) == (meant is not None)
    if meant is not None:
        assert text.endswith(f"\nDid you mean:\n\t{meant}\n")
