"""A secured cluster to try things on, in a folder of its own: certificates, users, rights, ZooKeeper and one broker.

Everything goes through the scripts beside this one, as an operator would type it. A second run starts what is there.
A run that fails or is interrupted leaves no process.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from secure_cluster_files import PREFIX, TOPIC, USERS, add_user, give_rights, make_topic, shown, write_files
from secure_cluster_servers import (
    Interrupted,
    Interrupts,
    Servers,
    accepts_connections,
    choose_ports,
    end,
    is_running,
    refuse_unusable,
)
from secure_cluster_state import STATE, Ports, State, TrialError, load, save

ZOOKEEPER, BROKER = "ZooKeeper", "broker"
BROKER_STARTED = "started (kafka.server.KafkaServer)"
HELP = f"""A secured cluster to try things on: makes a certificate authority, certificates, users and their rights,
starts a protected ZooKeeper and a broker, and prints how Java's clients, librdkafka and Python connect. This takes
about ten seconds. The servers listen on the loopback only, and run on in the background until --stop.

  listener SASL_SSL   users log in with SCRAM-SHA-512: admin may do everything, app may use topics and groups
                      that begin with {PREFIX} (there is a topic {TOPIC})
  listener SSL        clients show a certificate instead: CN=app is the user app
  ZooKeeper           lets in the broker and its tools alone (DIGEST-MD5); its znodes are theirs (zookeeper.set.acl)

Everything is in one folder that only you can read: configuration, keys, passwords, logs, data. A second run starts
what is there, with the same users, ports and records. Remove the folder, once stopped, to begin anew."""
EXAMPLES = """
examples:
  secure-cluster.sh                                start it in ./secure-trial
  secure-cluster.sh --dir /tmp/trial --port 9093   elsewhere, on a port that you choose
  secure-cluster.sh --status                       is it running, and how do clients connect?
  secure-cluster.sh --stop                         stop it; the data stay

exit codes: 0 done; 1 not done, for --status: not all of it is running; 2 wrong options; 130, 143 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    folder = options.dir.absolute()
    interrupts = Interrupts()
    try:
        if options.status:
            return 0 if show_status(folder) else 1
        if options.stop:
            stop(folder)
        else:
            interrupts.listen()
            start(folder, Ports(options.port, options.ssl_port, options.zookeeper_port), interrupts)
    except TrialError as error:
        print(f"secure-cluster: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        print(f"secure-cluster: {named}{error.strerror or error}", file=sys.stderr)
        return 1
    except Interrupted as interrupted:
        print("secure-cluster: interrupted; nothing that it started is running", file=sys.stderr)
        return 128 + interrupted.number
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="secure-cluster.sh",
        description=HELP,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--dir", type=Path, default=Path("secure-trial"), help="its folder (default: ./%(default)s)")
    kept = "(default: a free one, then the same)"
    parser.add_argument("--port", type=port, metavar="N", help=f"of the listener SASL_SSL {kept}")
    parser.add_argument("--ssl-port", type=port, metavar="N", help=f"of the listener SSL {kept}")
    parser.add_argument("--zookeeper-port", type=port, metavar="N", help=f"of ZooKeeper {kept}")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--status", action="store_true", help="say what is running, and how clients connect")
    what.add_argument("--stop", action="store_true", help="stop the broker and ZooKeeper; the data stay")
    options = parser.parse_args(arguments)
    if (options.status or options.stop) and (options.port or options.ssl_port or options.zookeeper_port):
        parser.error("ports can only be given to a start")
    return options


def port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65535:
        raise ValueError(text)
    return number


def start(folder: Path, wanted: Ports, interrupts: Interrupts) -> None:
    # Here, not above: --help, --status and --stop work before anything is installed.
    import secure_cluster_certificates as certificates

    os.umask(0o077)
    check_java()
    claim(folder)
    with lock(folder):
        state = load(folder) or State()
        end_what_was_left(state)
        state.ports = choose_ports(wanted, state.ports)
        refuse_unusable(state.ports)
        state.processes.clear()
        if not certificates.are_good(folder / "keys"):
            say("Make a certificate authority, and certificates for the broker and the user app")
            certificates.make(folder / "keys")
        write_files(folder, state)
        save(folder, state)
        servers = Servers(folder, state, interrupts)
        try:
            bring_up(servers, folder, state)
        except BaseException:
            interrupts.ignore()
            if state.processes:
                say(f"Stop {' and '.join(state.processes)}")
            servers.stop()
            raise
    print(shown(folder, state))


def bring_up(servers: Servers, folder: Path, state: State) -> None:
    """Blocks until everything is there. Raises TrialError; what was started runs on."""
    say("Start ZooKeeper")
    servers.launch(ZOOKEEPER, "zookeeper-server-start.sh", folder / "zookeeper.properties", jaas="server.jaas")
    servers.wait_until(lambda: accepts_connections(state.ports.zookeeper), "ZooKeeper accepts connections")
    if not state.is_set_up:
        say(f"Add the users {', '.join(USERS)}")
        servers.run(*(add_user(folder, state, user) for user in USERS))
    say("Start the broker: SASL_SSL with SCRAM-SHA-512, SSL with client certificates, ACLs")
    log = servers.launch(BROKER, "kafka-server-start.sh", folder / "server.properties", jaas="client.jaas")
    servers.wait_until(lambda: BROKER_STARTED in log.text(), "the broker has started")
    if not state.is_set_up:
        say(f"Create the topic {TOPIC}, and let the user app use topics and groups that begin with {PREFIX}")
        servers.run(make_topic(folder, state), give_rights(folder, state))
        state.is_set_up = True
        save(folder, state)


def check_java() -> None:
    """Raises TrialError where ZooKeeper could not run."""
    from kafka_zk.zk.embedded import NotFoundOnThisMachineError, find_java, zookeeper_jars

    try:
        find_java()
        zookeeper_jars()
    except NotFoundOnThisMachineError as error:
        raise TrialError(str(error)) from None


def claim(folder: Path) -> None:
    """Make the folder, for its owner alone. Raises TrialError for one that holds something else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder / STATE).exists() and any(folder.iterdir()):
        raise TrialError(f"{folder} holds something else: name a new or an empty folder with --dir")
    folder.chmod(0o700)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Two runs at once would spoil each other. Raises TrialError for the second."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise TrialError(f"another run is working in {folder}") from None
    finally:
        os.close(descriptor)


def end_what_was_left(state: State) -> None:
    """Blocks. Of a cluster that half of is running, end that half. Raises TrialError for one that is running."""
    running = [name for name, process in state.processes.items() if is_running(process)]
    if len(running) == 2:
        raise TrialError("it is running already: --status says how clients connect, --stop stops it")
    for name in running:
        say(f"Stop {name}, which alone was left of an earlier run")
        end(state.processes[name])


def stop(folder: Path) -> None:
    state = known(folder)
    with lock(folder):
        running = [name for name, process in state.processes.items() if is_running(process)]
        if not running:
            raise TrialError(f"nothing is running in {folder}")
        for name in reversed(running):
            say(f"Stop {name}")
            end(state.processes[name])
        state.processes.clear()
        save(folder, state)


def show_status(folder: Path) -> bool:
    """Whether all of it is running."""
    state = known(folder)
    running = {name: is_running(state.processes[name]) for name in (ZOOKEEPER, BROKER) if name in state.processes}
    for name in (ZOOKEEPER, BROKER):
        is_up = running.get(name, False)
        print(f"{name:10}{f'is running, process {state.processes[name].pid}' if is_up else 'is not running'}")
    if all(running.get(name) for name in (ZOOKEEPER, BROKER)):
        print(shown(folder, state))
        return True
    return False


def known(folder: Path) -> State:
    """Raises TrialError where nothing was ever started."""
    state = load(folder)
    if state is None:
        raise TrialError(f"there is no secured cluster in {folder}: name its folder with --dir")
    return state


def say(text: str) -> None:
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
