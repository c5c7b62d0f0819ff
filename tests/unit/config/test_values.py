import pytest

from kafka_zk.config.metadata_version import KNOWN_VERSIONS, MetadataVersion, find_version, version_of_level
from kafka_zk.config.values import ConfigType, java_double, java_integer, parse


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.00025, "2.5E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-2.147483647e9, "-2.147483647E9"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e-300, "1.0E-300"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_printed_as_java_prints_them(value: float, text: str):
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3.9", "3.9-IV0"),
        ("3.9.1", "3.9-IV0"),
        ("3.9.1-IV0", "3.9-IV0"),
        ("2.8", "2.8-IV1"),
        ("2.8-IV5", None),
        ("4.0", None),
        ("4.0-IV0", "4.0-IV0"),
        ("0.10", None),
        ("0.10.0", "0.10.0-IV1"),
        ("0.11.0.2", "0.11.0-IV2"),
        ("0.8.2.1", "0.8.2"),
        ("0.10.0.1-IV1", "0.10.0-IV1"),
        ("2.1-IV1.5", "2.1-IV1"),
        ("2.1.5-IV1", "2.1-IV2"),
        ("3", None),
        ("3.0.", None),
        ("3.0.1.", "3.0-IV1"),
        ("3.0.x", "3.0-IV1"),
        ("", None),
        ("foo", None),
    ],
)
def test_versions_are_found_as_kafka_finds_them(text: str, name: str | None):
    version = find_version(text)
    assert (None if version is None else str(version)) == name


def test_versions_compare_by_age_and_not_by_text():
    old, new = MetadataVersion("0.11.0-IV2"), MetadataVersion("2.7-IV2")
    assert old < new
    assert new.is_at_least("2.7-IV1")
    assert not new.is_at_least("3.0-IV0")


def test_levels_of_the_feature_begin_with_3_0_iv1_and_have_no_gap():
    levels = {name: MetadataVersion(name).feature_level for name in KNOWN_VERSIONS}
    assert (levels["3.0-IV0"], levels["3.0-IV1"], levels["3.9-IV0"]) == (-1, 1, 21)
    assert [str(version_of_level(level)) for level in range(1, 24)] == list(KNOWN_VERSIONS)[-23:]
    assert (version_of_level(0), str(version_of_level(-1))) == (None, "0.8.0")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("-2147483648", -(2**31)),
        ("+7", 7),
        ("-0", 0),
        ("0" * 5_000 + "7", 7),
        ("9" * 5_000, None),
        ("1_0", None),
        ("--1", None),
        ("", None),
    ],
)
def test_integers_are_read_as_java_reads_them(text: str, value: int | None):
    """However many zeros they begin with."""
    assert java_integer(text, 32) == value


def test_a_config_may_begin_with_thousands_of_zeros():
    assert parse("retention.ms", ConfigType.LONG, "0" * 5_000 + "7") == 7
