"""Settings of the jobs: from options, from a file, checked against their declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.spark.cli.arguments import Packing, Run, WrongUsage, parse
from kafka_zk.spark.cli.session import TRIES, job_conf
from kafka_zk.spark.settings.declaration import Kind, Setting, SettingError
from kafka_zk.spark.settings.jobs import JOBS
from kafka_zk.spark.settings.toml_file import KNOWN_SECTIONS

ARCHIVE = ["archive", "--bootstrap-server", "localhost:9092", "--path", "/archive"]


def run(*arguments: str) -> Run:
    parsed = parse(arguments)
    assert isinstance(parsed, Run)
    return parsed


def refusal(*arguments: str) -> str:
    with pytest.raises(WrongUsage) as raised:
        parse(arguments)
    return str(raised.value)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "pipeline.toml"
    path.write_text("""
[kafka]
bootstrap.servers = "file:9092"
"client.id" = "pipeline"
max.partition.fetch.bytes = 1048576

[spark]
master = "local[2]"
spark.executor.memory = "2g"

[archive]
topics = ["flights", "weather"]
path = "/from/file"
max-offsets-per-trigger = 1000

[transform]
topics = ["other"]
""")
    return path


def test_options_reach_the_job_with_their_types():
    settings = run(*ARCHIVE, "--topics", "a,b", "c", "--max-offsets-per-trigger", "10", "--allow-data-loss").settings
    assert settings.texts("topics") == ["a", "b", "c"]
    assert settings.integer("max-offsets-per-trigger") == 10
    assert settings.flag("allow-data-loss") and settings.text("format") == "parquet"
    assert not settings.has("group")


def test_a_file_gives_what_the_options_leave_out(toml: Path):
    settings = run("archive", "--config", str(toml)).settings
    assert settings.text("bootstrap-server") == "file:9092"
    assert settings.mapping("kafka") == {"client.id": "pipeline", "max.partition.fetch.bytes": "1048576"}
    assert settings.mapping("conf") == {"spark.executor.memory": "2g"}
    assert settings.text("master") == "local[2]" and settings.texts("topics") == ["flights", "weather"]


def test_options_win_over_the_file_and_mappings_are_joined(toml: Path):
    arguments = ["--config", str(toml), "--path", "/from/option", "--kafka", "client.id=other", "--kafka", "acks=1"]
    settings = run("archive", *arguments).settings
    assert settings.text("path") == "/from/option"
    assert settings.mapping("kafka") == {"client.id": "other", "max.partition.fetch.bytes": "1048576", "acks": "1"}


def test_an_option_takes_the_place_of_its_alternative_in_the_file(toml: Path):
    settings = run("archive", "--config", str(toml), "--topics-pattern", "fl.*").settings
    assert not settings.has("topics") and settings.text("topics-pattern") == "fl.*"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["archive"], "archive requires bootstrap-server, path"),
        (ARCHIVE, "archive requires one of topics, topics-pattern"),
        ([*ARCHIVE, "--topics", "a", "--topics-pattern", "b"], "archive takes only one of topics, topics-pattern"),
        ([*ARCHIVE, "--topics", "a", "--min-partitions", "many"], "min-partitions must be an integer, not 'many'"),
        ([*ARCHIVE, "--topics", "a", "--min-partitions", "0"], "min-partitions must be positive, not 0"),
        ([*ARCHIVE, "--topics", ","], "topics must name at least one"),
        ([*ARCHIVE, "--topics", "a", "--kafka", "acks"], "kafka must be KEY=VALUE, not 'acks'"),
        (["ingest", "--format", "xml"], "format must be one of csv, json, parquet, orc, not 'xml'"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(arguments: list[str], sentence: str):
    assert refusal(*arguments) == f"kafka-pipeline.sh {arguments[0]}: {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[archive]\ntopic = 'a'", "[archive] has no setting 'topic'"),
        ("[archiv]\n", "there is no job or section named 'archiv'"),
        ("path = '/a'", "'path' is outside of any table; move it below [archive]"),
        ("[archive]\nallow-data-loss = 'no'", "allow-data-loss must be true or false, not 'no'"),
        ("[archive]\ntopics = [1]", "topics must be a list of strings, not [1]"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, sentence: str):
    path = tmp_path / "pipeline.toml"
    path.write_text(text)
    assert refusal(*ARCHIVE, "--config", str(path)) == f"kafka-pipeline.sh archive: {sentence}"


def test_a_file_that_is_not_there_or_no_toml_is_named(tmp_path: Path):
    path = tmp_path / "pipeline.toml"
    assert refusal("archive", "--config", str(path)).endswith(f"{path}: No such file or directory")
    path.write_text("[archive")
    assert refusal("archive", "--config", str(path)).startswith(f"kafka-pipeline.sh archive: {path}: ")


def test_no_job_and_an_unknown_job_are_told_with_the_usage():
    assert refusal().endswith("kafka-pipeline.sh: missing job, expected one of: " + ", ".join(JOBS))
    assert "invalid choice: 'compress'" in refusal("compress")


def test_a_wrong_option_of_a_job_is_told_with_the_usage_of_the_job():
    told = refusal("archive", "--nothing", "x")
    assert told.startswith("usage: kafka-pipeline.sh archive ")
    assert told.endswith("kafka-pipeline.sh archive: unrecognized arguments: --nothing x")


def test_packing_is_asked_for_without_a_job():
    assert parse(["--package", "x.tar.gz", "--include", "numpy"]) == Packing(Path("x.tar.gz"), ["numpy"])
    assert "must end in .tar.gz" in refusal("--package", "x.zip")


@pytest.mark.parametrize("job", JOBS.values(), ids=lambda job: job.name)
def test_every_declaration_holds_together(job):
    names = [setting.name for setting in job.settings]
    assert len(names) == len(set(names))
    assert {name for group in job.needs_one_of for name in group} <= set(names)
    assert {setting.section for setting in job.settings} - {""} <= KNOWN_SECTIONS
    for setting in job.settings:
        assert setting.default is None or setting.parse(setting.default) == setting.default


def test_a_text_may_be_given_as_a_number_but_not_as_a_truth():
    assert Setting("x", Kind.TEXT, "").parse(5) == "5"
    with pytest.raises(SettingError):
        Setting("x", Kind.TEXT, "").parse(True)


def test_a_job_that_counts_what_it_sent_tries_no_task_again() -> None:
    assert job_conf("ingest", {})[TRIES] == "1"
    assert job_conf("ingest", {})["spark.stage.maxConsecutiveAttempts"] == "1", "a stage begun anew counts from 0 again"
    assert job_conf("restore", {TRIES: "2"})[TRIES] == "2"
    assert TRIES not in job_conf("archive", {})
