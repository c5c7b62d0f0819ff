"""The inter-broker protocol versions in order, and their short names.

Role        Pure.
Source      MetadataVersion.java: the enum, fromVersionString, fromFeatureLevel, LATEST_PRODUCTION.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering

KNOWN_VERSIONS = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2",
    "0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0",
    "2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0",
    "2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0",
    "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
    "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1",
)  # fmt: skip

_LATEST_PRODUCTION = "3.9-IV0"
_LEVELS = {name: level for level, name in enumerate(KNOWN_VERSIONS)}
_FIRST_WITH_A_FEATURE_LEVEL = _LEVELS["3.0-IV1"]
_OLDEST_BOOTSTRAP = "3.3-IV0"

FEATURE_NAME = "metadata.version"
"""The feature whose levels these versions are."""


@total_ordering
@dataclass(frozen=True, slots=True)
class MetadataVersion:
    """One protocol version; versions compare by age, `str` is the full name ("3.9-IV0")."""

    name: str

    def is_at_least(self, name: str) -> bool:
        """Whether this version is `name` (full, for instance "2.7-IV2") or newer."""
        return _LEVELS[self.name] >= _LEVELS[name]

    @property
    def feature_level(self) -> int:
        """Its level as a feature, from 1; -1 for versions older than that."""
        level = _LEVELS[self.name] - _FIRST_WITH_A_FEATURE_LEVEL + 1
        return level if level > 0 else -1

    def __lt__(self, other: MetadataVersion) -> bool:
        return _LEVELS[self.name] < _LEVELS[other.name]

    def __str__(self) -> str:
        return self.name


def find_version(text: str) -> MetadataVersion | None:
    """The version a user means; None when there is none.

    The text is cut at dots: two parts count (three of the old 0.x line), the rest is a patch number. What is left is
    a full name, or a release, which means its newest version. 4.0 has no production version and no short name.
    """
    count = 3 if text.startswith("0.") else 2
    # Dots at the end begin no part: they are left where they are, and nothing is found.
    wanted = ".".join(text.split(".")[:count]) if text.rstrip(".").count(".") >= count else text
    if wanted in _LEVELS:
        return MetadataVersion(wanted)
    production = KNOWN_VERSIONS[: _LEVELS[_LATEST_PRODUCTION] + 1]
    matching = [name for name in production if name.partition("-")[0] == wanted]
    return MetadataVersion(matching[-1]) if matching else None


def version_of_level(feature_level: int) -> MetadataVersion | None:
    """The first version with that level; None when there is none."""
    versions = map(MetadataVersion, KNOWN_VERSIONS)
    return next((version for version in versions if version.feature_level == feature_level), None)


def supported_by_tools() -> tuple[str, ...]:
    """The versions that tools name as those one can choose from."""
    return KNOWN_VERSIONS[_LEVELS[_OLDEST_BOOTSTRAP] : _LEVELS[_LATEST_PRODUCTION] + 1]
