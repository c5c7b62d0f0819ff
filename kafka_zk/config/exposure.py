"""Files with secrets that everybody on the machine can read.

Role        Looks at files, and never at what they hold; the caller says which properties file it read.
Invariants  A file is exposed when others may read it and may reach it through every folder above.
Source      Kafka has no such check; ssh refuses such keys.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

_PASSWORDS: Final = re.compile(r"(password|secret|jaas\.config|keystore\.key|secret\.key|master\.key)$")
_KEY_STORE: Final = re.compile(r"(^|\.)ssl\.keystore\.location$")
_PASSWORD_FILE: Final = re.compile(r"(^|\.)password\.file$")
_JAAS_FILE: Final = re.compile(r"-Djava\.security\.auth\.login\.config=(\S+)")


class Exposed(NamedTuple):
    """A file, and what it is."""

    path: Path
    what: str

    def __str__(self) -> str:
        return f"{self.path} can be read by everybody on this machine, and it is {self.what}: chmod o-rwx {self.path}"


def exposed_files(
    properties: Mapping[str, str], properties_file: Path | None, environment: Mapping[str, str]
) -> list[Exposed]:
    """Blocks on the disk. What of a broker's configuration is exposed, each file once."""
    found: dict[Path, Exposed] = {}
    for path, what in _secret_files(properties, properties_file, environment):
        if path not in found and is_exposed(path):
            found[path] = Exposed(path, what)
    return list(found.values())


def is_exposed(path: Path) -> bool:
    """Whether others may read a file. One that cannot be looked at is not."""
    try:
        real = path.resolve()
        reachable = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
        return bool(reachable and real.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False


def _secret_files(
    properties: Mapping[str, str], properties_file: Path | None, environment: Mapping[str, str]
) -> Iterator[tuple[Path, str]]:
    holds = sorted(name for name, value in properties.items() if value.strip() and _PASSWORDS.search(name))
    if properties_file is not None and holds:
        yield properties_file, f"where {holds[0]} is set"
    for name, value in sorted(properties.items()):
        if value.strip() and _KEY_STORE.search(name):
            yield Path(value.strip()), f"the key store of {name}"
        elif value.strip() and _PASSWORD_FILE.search(name):
            yield Path(value.strip()), f"the password file of {name}"
    jaas = _JAAS_FILE.search(environment.get("KAFKA_OPTS", ""))
    if jaas is not None:
        yield Path(jaas[1]), "the JAAS configuration"
