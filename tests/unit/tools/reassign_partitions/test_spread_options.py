"""The command line of --drain and --balance, and what is printed of a plan."""

from __future__ import annotations

import pytest

from kafka_zk.tools.reassign_partitions.__main__ import main
from kafka_zk.tools.reassign_partitions.spread_options import bytes_text, progress, time_text

REFUSED = {
    "--drain 1": "--bootstrap-server is missing",
    "--bootstrap-server h:1 --drain 1 --balance": "one of --drain and --balance is needed, not both",
    "--bootstrap-server h:1 --drain": "Option drain requires an argument. See --drain --help.",
    "--bootstrap-server h:1 --drain a": "--drain: 'a' is no whole number",
    "--bootstrap-server h:1 --drain 1,": "--drain: '' is no whole number",
    "--bootstrap-server h:1 --drain -1": "--drain: -1 is less than 0",
    "--bootstrap-server h:1 --balance --throttle 1": "--throttle: 1 is less than 1024",
    "--bootstrap-server h:1 --balance --throttle x": "--throttle: 'x' is no whole number",
    "--bootstrap-server h:1 --balance --at-a-time 0": "--at-a-time: 0 is less than 1",
    "--bootstrap-server h:1 --balance --execute": "execute is not a recognized option. See --drain --help.",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_makes_no_sense_is_refused_in_one_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 1
    assert capsys.readouterr().err == f"{REFUSED[line]}\n"


@pytest.mark.parametrize("line", ["--drain --help", "--balance --help"])
def test_it_has_a_help_of_its_own(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 0
    assert "--at-a-time N" in capsys.readouterr().out


def test_apaches_help_says_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 1
    assert "drain" not in capsys.readouterr().err


def test_sizes_times_and_bars() -> None:
    assert [*map(bytes_text, (0, 999, 1000, 1_500_000, 2e12))] == ["0 B", "999 B", "1.0 kB", "1.5 MB", "2.0 TB"]
    assert [*map(time_text, (0, 59.6, 61, 3600, 7325))] == ["1 s", "1 min", "1 min 1 s", "1 h", "2 h 2 min"]
    assert progress(1, 4, 250, 1000, width=4) == "[#---] 1 of 4 partitions, 250 B of 1.0 kB"
    assert progress(1, 4, 0, 0, width=4) == "[#---] 1 of 4 partitions, 0 B of 0 B"
