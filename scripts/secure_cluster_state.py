"""What a run of secure_cluster.py leaves for the next one: ports, passwords, and the processes that are running.

Needs nothing but Python itself. Files hold secrets, and can be read by their owner only.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

STATE = "state.json"


class TrialError(Exception):
    """Something a person must know: one sentence, no traceback."""


@dataclass
class Ports:
    """None: not chosen yet."""

    broker: int | None = None
    """Of the listener SASL_SSL."""
    ssl: int | None = None
    zookeeper: int | None = None


@dataclass
class Process:
    """A server that was started. Another process with its pid started at another time."""

    pid: int
    started_at: str
    """Clock ticks since the machine came up, as /proc tells them."""


@dataclass
class State:
    ports: Ports = field(default_factory=Ports)
    passwords: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    is_set_up: bool = False
    """Whether users, rights and topic are there."""

    def password_of(self, user: str) -> str:
        """The same for ever; made when it is first asked for."""
        return self.passwords.setdefault(user, secrets.token_urlsafe(18))


def load(folder: Path) -> State | None:
    """None where nothing was ever started. Raises TrialError for a file that another version wrote, or somebody."""
    try:
        values = json.loads((folder / STATE).read_text())
        processes = {name: Process(**process) for name, process in values["processes"].items()}
        return State(Ports(**values["ports"]), values["passwords"], processes, values["is_set_up"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrialError(f"{folder / STATE} cannot be read ({error!r}): remove the folder, and start anew") from None


def save(folder: Path, state: State) -> None:
    write(folder / STATE, json.dumps(asdict(state), indent=1) + "\n")


def write(path: Path, text: str) -> None:
    """Replace the file as a whole; nobody but its owner can read it at any time."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)
