"""Arguments are read as jopt-simple reads them."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.java_output import stack_trace
from kafka_zk.tools.common.java_values import java_integer
from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError, VersionAsked

DECLARED = (Option("topic", True), Option("count", True), Option("list"), Option("help"), Option("version"))


def given(*arguments: str) -> Options:
    return Options(DECLARED, arguments)


@pytest.mark.parametrize("arguments", [("--topic", "a"), ("--topic=a",), ("-topic", "a"), ("-topic=a",)])
def test_a_value_may_follow_in_four_ways(arguments: tuple[str, ...]) -> None:
    assert given(*arguments).text("topic") == "a"


def test_a_value_is_taken_whatever_it_looks_like() -> None:
    assert given("--topic", "--list").text("topic") == "--list"


def test_an_equals_sign_alone_gives_an_empty_value() -> None:
    assert given("--topic=", "a").text("topic") == ""


def test_a_value_may_hold_equals_signs() -> None:
    assert given("--topic", "a=b").text("topic") == given("--topic=a=b").text("topic") == "a=b"


def test_two_dashes_end_the_options_and_other_words_mean_nothing() -> None:
    options = given("word", "-", "--", "--list", "--bogus")
    assert not options.has("list")


@pytest.mark.parametrize(("argument", "named"), [("--bogus", "bogus"), ("--lis", "lis"), ("-lx", "l"), ("--x=1", "x")])
def test_an_unknown_option_is_named(argument: str, named: str) -> None:
    with pytest.raises(OptionError, match=rf"^{named} is not a recognized option$"):
        given(argument)


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^Option topic requires an argument$"):
        given("--topic")


def test_a_value_is_judged_only_when_it_is_asked_for() -> None:
    options = given("--count", "many", "--topic", "a", "--topic", "b")
    with pytest.raises(OptionError, match=r"^Cannot parse argument 'many' of option count$") as caught:
        options.integer("count")
    assert stack_trace(caught.value).splitlines()[-1] == (
        'Caused by: java.lang.NumberFormatException: For input string: "many"'
    )
    with pytest.raises(OptionError, match=r"^Found multiple arguments for option topic, but you asked for only one$"):
        options.text("topic")
    assert options.texts("topic") == ["a", "b"]


def test_an_absent_option_has_no_value() -> None:
    assert given("--list").text("topic") is given("--list").integer("count") is None


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("+7", 7), ("-2147483648", -(2**31)), ("007", 7)])
def test_an_integer_is_what_java_takes_for_one(text: str, number: int) -> None:
    assert java_integer(text) == number


@pytest.mark.parametrize("text", ["", "+", "2147483648", "1.0", " 1", "1_0", "²"])
def test_other_texts_are_no_integers(text: str) -> None:
    with pytest.raises(ValueError, match=r"^For input string: "):
        java_integer(text)


def test_help_is_shown_before_the_version() -> None:
    with pytest.raises(UsageError, match=r"^about$"):
        given("--version", "--help").check_help_or_version(without_arguments="none", help_text="about")
    with pytest.raises(VersionAsked):
        given("--version").check_help_or_version(without_arguments="none", help_text="about")
    with pytest.raises(UsageError, match=r"^none$"):
        given().check_help_or_version(without_arguments="none", help_text="about")


def test_what_must_and_must_not_go_together_is_said_in_kafkas_words() -> None:
    options = given("--list", "--topic", "a")
    with pytest.raises(UsageError, match=r'^Missing required argument "\[count\]"$'):
        options.require("topic", "count")
    with pytest.raises(UsageError, match=r"""^Option "\[topic\]" can't be used with option "\[list\]"$"""):
        options.refuse_beside("topic", ["count", "list"])
    with pytest.raises(UsageError, match=r'^Option combination "\[\[topic\], \[list\]\]" can'):
        given("--topic", "a", "--list", "--help").refuse_combination(("topic", "list"), "help", "")
    options.refuse_beside("count", ["list"])


# --- what an option asks for ------------------------------------------------------------------------------------------

CHOOSY = (
    Option("id", True, is_required=True),
    Option("describe"),
    Option("members", available_beside=("describe",)),
    Option("topics", True, separator=","),
    Option("help"),
    Option("version"),
)


def test_a_required_option_is_missed_before_anything_else() -> None:
    with pytest.raises(OptionError, match=r"^Missing required option\(s\) \[id\]$"):
        Options(CHOOSY, ["--members"])


def test_an_option_without_its_company_is_unavailable() -> None:
    with pytest.raises(OptionError, match=r"^Option\(s\) \[members\] are unavailable given other options"):
        Options(CHOOSY, ["--id", "a", "--members"])
    assert Options(CHOOSY, ["--id", "a", "--members", "--describe"]).has("members")


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_needs_nothing_else(word: str) -> None:
    assert Options(CHOOSY, [word, "--members"]).has("members")


def test_a_separator_cuts_values_and_empty_ones_mean_nothing() -> None:
    assert Options(CHOOSY, ["--id", "a", "--topics", "a,,b,", "--topics=c"]).texts("topics") == ["a", "b", "c"]
