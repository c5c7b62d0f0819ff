"""The shell scripts: from any folder, through links, and with clear words when something is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
WRAPPERS = {
    "kafka-server-start.sh": "server_start",
    "kafka-server-stop.sh": "server_stop",
    "kafka-console-consumer.sh": "console_consumer",
    "kafka-console-producer.sh": "console_producer",
    "kafka-consumer-perf-test.sh": "consumer_perf_test",
    "kafka-consumer-groups.sh": "consumer_groups",
    "kafka-delete-records.sh": "delete_records",
    "kafka-broker-api-versions.sh": "broker_api_versions",
    "kafka-cluster.sh": "cluster",
    "kafka-cluster-up.sh": "cluster_up",
    "kafka-cluster-restart.sh": "cluster_restart",
    "kafka-cluster-down.sh": "cluster_down",
    "kafka-features.sh": "features",
    "kafka-log-dirs.sh": "log_dirs",
    "kafka-e2e-latency.sh": "e2e_latency",
    "kafka-get-offsets.sh": "get_offsets",
    "kafka-reassign-partitions.sh": "reassign_partitions",
    "kafka-leader-election.sh": "leader_election",
    "kafka-replica-verification.sh": "replica_verification",
    "kafka-preferred-replica-election.sh": "preferred_replica_election",
    "kafka-producer-perf-test.sh": "producer_perf_test",
    "kafka-verifiable-consumer.sh": "verifiable_consumer",
    "kafka-verifiable-producer.sh": "verifiable_producer",
    "kafka-log-doctor.sh": "log_doctor",
    "kafka-configs.sh": "configs",
    "kafka-streams-application-reset.sh": "streams_application_reset",
    "kafka-topics.sh": "topics",
    "kafka-transactions.sh": "transactions",
    "kafka-acls.sh": "acls",
    "kafka-delegation-tokens.sh": "delegation_tokens",
    "zookeeper-server-start.sh": "zookeeper_server_start",
    "zookeeper-server-stop.sh": "zookeeper_server_stop",
    "zookeeper-shell.sh": "zookeeper_shell",
}

TELLING_PYTHON = """#!/bin/sh
[ "$2" = -c ] && exit "${FOUND:-0}"
echo "$@"
echo "LOG_DIR=$LOG_DIR"
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the scripts without a .venv beside them, and bin/ with a Python that only tells how it was called."""
    shutil.copytree(SCRIPTS, tmp_path / "home" / "scripts")
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(TELLING_PYTHON)
    python.chmod(0o755)
    python.with_name("python").symlink_to(python)
    return tmp_path


def run(script: Path, *arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("LOG_DIR", "PYTHON")}
    return subprocess.run(
        [str(script), *arguments],
        cwd="/",
        env={**clean, "PATH": f"{home / 'bin'}:/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("wrapper", "module"), WRAPPERS.items())
def test_a_wrapper_runs_its_tool_with_the_arguments_as_they_are(installed: Path, wrapper: str, module: str):
    result = run(installed / "home" / "scripts" / wrapper, "--a", "b c", "", home=installed)
    assert result.stdout.splitlines() == [
        f"-P -X frozen_modules=on -m kafka_zk.tools.{module} --a b c ",
        f"LOG_DIR={installed}/home/logs",
    ]
    assert result.returncode == 0


def test_a_wrapper_works_through_a_link(installed: Path):
    link = installed / "kafka-topics"
    link.symlink_to(installed / "home" / "scripts" / "kafka-topics.sh")
    assert "kafka_zk.tools.topics --list" in run(link, "--list", home=installed).stdout


def test_the_virtual_environment_beside_the_scripts_comes_first(installed: Path):
    python = installed / "home" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho from the environment\n")
    python.chmod(0o755)
    result = run(installed / "home" / "scripts" / "kafka-topics.sh", home=installed)
    assert result.stdout == "from the environment\n"


def test_it_says_so_when_kafka_zk_is_nowhere(installed: Path):
    result = run(installed / "home" / "scripts" / "kafka-topics.sh", "--list", home=installed, FOUND="1")
    assert result.returncode == 1
    assert "Cannot find kafka_zk" in result.stderr
    assert "scripts/setup.sh" in result.stderr
    assert "pip install" not in result.stderr, "no index has such a distribution"


@pytest.mark.parametrize(
    ("argument", "code", "words"), [("--help", 2, "EXTRA"), ("nothing", 1, "no extra called nothing")]
)
def test_setup_refuses_what_it_does_not_know(argument: str, code: int, words: str):
    result = subprocess.run([str(SCRIPTS / "setup.sh"), argument], capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert words in result.stderr


def test_setup_names_the_python_that_is_missing(tmp_path: Path):
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPTS / "setup.sh", project / "scripts")
    (project / "pyproject.toml").write_text("")
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    for tool in ("bash", "dirname", "readlink", "flock", "grep", "sed"):
        found = shutil.which(tool)
        assert found is not None
        (bin_directory / tool).symlink_to(found)
    result = subprocess.run(
        [str(bin_directory / "bash"), str(project / "scripts" / "setup.sh")],
        env={"PATH": str(bin_directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "Python 3.11 or newer is needed" in result.stderr


PYTHON_THAT_IS_INTERRUPTED_ONCE = """#!/bin/sh
[ "$2" = venv ] || exit 0
mkdir -p .venv/bin
cp "$0" .venv/bin/python
if [ ! -e interrupted ]; then
  touch interrupted .venv/half
  kill -KILL $PPID
fi
"""


def test_an_environment_that_was_interrupted_while_it_was_made_is_made_anew(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "kafka_zk").mkdir()
    shutil.copy(SCRIPTS / "setup.sh", tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "setup.py").write_text("")
    python = tmp_path / "python"
    python.write_text(PYTHON_THAT_IS_INTERRUPTED_ONCE)
    python.chmod(0o755)

    def set_up() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tmp_path / "scripts" / "setup.sh")],
            env={**os.environ, "PYTHON": str(python)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert set_up().returncode < 0
    assert (tmp_path / ".venv" / "half").exists()
    second = set_up()
    assert second.returncode == 0, second.stderr
    assert "making .venv" in second.stdout
    assert not (tmp_path / ".venv" / "half").exists()
    assert set_up().stdout == "setup: everything is in place (.venv)\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["-h"], 0), (["--keep", "--nothing"], 2), (["--plot"], 2), (["nothing"], 2)],
)
def test_the_quickstart_shows_its_usage_before_it_installs_anything(tmp_path: Path, arguments: list[str], code: int):
    shutil.copy(SCRIPTS / "quickstart.sh", tmp_path)
    result = subprocess.run(
        [str(tmp_path / "quickstart.sh"), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == code
    assert (result.stderr if code else result.stdout).splitlines()[3:4] == [
        "  scripts/quickstart.sh [--keep] [--plot FILE]"
    ]


def test_the_quickstart_installs_and_hands_its_options_on(installed: Path):
    scripts = installed / "home" / "scripts"
    (scripts / "setup.sh").write_text("#!/bin/sh\necho setup: $@\n")
    python = installed / "home" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nshift\necho "$@"\n')
    python.chmod(0o755)
    result = run(scripts / "quickstart.sh", "--keep", "--plot", "a b.png", home=installed)
    assert result.stdout == "setup: embedded quickstart\n--keep --plot a b.png\n"


QUICKSTART = """
import sys, types
told = sys.argv.pop()
for name in ("confluent_kafka", "quickstart_pipeline", "tqdm"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__getattr__ = lambda _: type("Anything", (Exception,), {})
import quickstart
def run(folder, plot):
    print(folder, flush=True)
    quickstart.run_script("endless.sh", told)
quickstart.run = run
sys.exit(quickstart.main())
"""
# Nobody has to end it where the quickstart, against its promise, does not.
ENDLESS = """#!/bin/sh
trap 'echo ended > "$1"; exit 143' TERM
echo ready
for _ in $(seq 900); do sleep 0.1; done
"""


@pytest.mark.parametrize("keeps", [False, True])
def test_a_sigterm_ends_the_quickstart_with_what_it_runs_and_its_folder(tmp_path: Path, keeps: bool):
    shutil.copy(SCRIPTS / "quickstart.py", tmp_path)
    endless = tmp_path / "endless.sh"
    endless.write_text(ENDLESS)
    endless.chmod(0o755)
    options = ["--keep"] if keeps else []
    with subprocess.Popen(
        [sys.executable, "-c", QUICKSTART, *options, str(tmp_path / "told")],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as quickstart:
        assert quickstart.stdout is not None
        folder = quickstart.stdout.readline().rstrip("\n")
        while "ready" not in (line := quickstart.stdout.readline()):
            assert line, "it has not started the script"
        quickstart.terminate()
        out, err = quickstart.communicate(timeout=60)
    assert quickstart.returncode == 143, err
    assert err == "\nquickstart: interrupted; all processes it started were stopped.\n"
    assert (tmp_path / "told").read_text() == "ended\n"
    assert Path(folder).exists() == keeps
    assert (f"Data and logs are in {folder}." in out) == keeps


def test_the_help_of_the_tests_is_their_usage_alone():
    result = subprocess.run([str(SCRIPTS / "test.sh"), "--help"], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1].startswith("--full adds")
