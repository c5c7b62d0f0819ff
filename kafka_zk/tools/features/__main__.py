"""kafka-features.sh: describes and changes the features of a cluster; a cluster in ZooKeeper mode has none.

Source      org.apache.kafka.tools.FeatureCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.config.metadata_version import FEATURE_NAME, find_version, supported_by_tools, version_of_level
from kafka_zk.config.values import java_trim
from kafka_zk.tools.common.argparse4j import Argument, ArgumentParser, Kind
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import execution_error, show_warnings, utf16_order
from kafka_zk.tools.common.java_values import java_short
from kafka_zk.tools.common.subcommands import choose_command

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.features import FeatureMetadata, FeatureUpdate, UpgradeType

PROGRAM = ArgumentParser(
    "kafka-features",
    (
        Argument("--bootstrap-server", group="servers"),
        Argument("--bootstrap-controller", group="servers"),
        Argument("--command-config"),
    ),
    "features",
)
METADATA, FEATURE = Argument("--metadata"), Argument("--feature", kind=Kind.EACH)
UNSAFE, DRY_RUN = Argument("--unsafe", kind=Kind.FLAG), Argument("--dry-run", kind=Kind.FLAG)
COMMANDS = {
    name: ArgumentParser("kafka-features", arguments, "features", name)
    for name, arguments in {
        "describe": (),
        "upgrade": (METADATA, FEATURE, DRY_RUN),
        "downgrade": (METADATA, FEATURE, UNSAFE, DRY_RUN),
        "disable": (FEATURE, UNSAFE, DRY_RUN),
    }.items()
}


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = choose_command(PROGRAM, COMMANDS, list(sys.argv[1:] if arguments is None else arguments))
    return chosen if isinstance(chosen, int) else exit_code_of(lambda: _run(*chosen), tool="features", tell=_tell)


def _tell(error: Exception) -> None:
    print(error, file=sys.stderr)


def _run(command: str, values: Mapping[str, Any]) -> None:
    servers = values["bootstrap-controller" if values["bootstrap-server"] is None else "bootstrap-server"]
    properties = {**read_command_config(values["command-config"]), "bootstrap.servers": servers}
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        if command == "describe":
            try:
                found = admin.describe_features(of_controllers=values["bootstrap-server"] is None)
            except FAILURES as error:
                raise execution_error(error) from error
            print(features_text(found), end="")
        else:
            _update(admin, command, values)


# --- describe --------------------------------------------------------------------------------------------------------


def features_text(found: FeatureMetadata) -> str:
    """A line for each feature that is supported."""
    lines = []
    for name in sorted(found.supported, key=utf16_order):
        lowest, highest = found.supported[name]
        level = found.finalized[name].highest if name in found.finalized else 0
        lines.append(
            f"Feature: {name}\tSupportedMinVersion: {_level_text(name, lowest)}\t"
            f"SupportedMaxVersion: {_level_text(name, highest)}\tFinalizedVersionLevel: {_level_text(name, level)}\t"
            f"Epoch: {'-' if found.epoch is None else found.epoch}\n"
        )
    return "".join(lines)


def _level_text(name: str, level: int) -> str:
    if name != FEATURE_NAME:
        return str(level)
    version = version_of_level(level)
    return f"UNKNOWN {level}" if version is None else str(version)


# --- upgrade, downgrade, disable -------------------------------------------------------------------------------------


def _update(admin: AdminClient, command: str, values: Mapping[str, Any]) -> None:
    dry_run = values["dry-run"]
    try:
        updates = _updates(command, values)
        if not updates:
            raise Refused(f"You must specify at least one feature to {command}")
        outcomes = admin.update_features(
            updates, validate_only=dry_run, of_controllers=values["bootstrap-server"] is None
        )
    except ValueError as error:
        raise Refused(*error.args) from None
    for name in sorted(outcomes, key=utf16_order):
        print(outcome_text(command, name, updates[name].max_version_level, outcomes[name], dry_run=dry_run))
    failed = sum(error is not None for error in outcomes.values())
    if failed:
        raise Refused(f"{failed} out of {len(updates)} operation(s) failed.")


def _updates(command: str, values: Mapping[str, Any]) -> dict[str, FeatureUpdate]:
    """The requested changes. Raises Refused, ValueError."""
    from kafka_zk.client.admin.features import FeatureUpdate

    upgrade_type = _upgrade_type(command, values)
    updates: dict[str, FeatureUpdate] = {}
    if values.get("metadata") is not None:
        updates[FEATURE_NAME] = FeatureUpdate(_metadata_level(values["metadata"]), upgrade_type)
    name_and_level: Callable[[str], tuple[str, int]] = _deleted if command == "disable" else _name_and_level
    for text in values["feature"] or ():
        name, level = name_and_level(text)
        update = FeatureUpdate(level, upgrade_type)
        if name in updates:
            raise Refused(f"Feature {name} was specified more than once.")
        updates[name] = update
    return updates


def _upgrade_type(command: str, values: Mapping[str, Any]) -> UpgradeType:
    from kafka_zk.client.admin.features import UpgradeType

    if command == "upgrade":
        return UpgradeType.UPGRADE
    return UpgradeType.UNSAFE_DOWNGRADE if values["unsafe"] else UpgradeType.SAFE_DOWNGRADE


def _metadata_level(text: str) -> int:
    version = find_version(text)
    if version is None:
        known = ", ".join(supported_by_tools())
        raise Refused(f"Unsupported metadata.version {text}. Supported metadata.version are {known}")
    return version.feature_level


def _deleted(name: str) -> tuple[str, int]:
    return name, 0


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise Refused(f"Can't parse feature=level string {text}: equals sign not found.")
    level = java_trim(level)
    try:
        return java_trim(name), java_short(level)
    except ValueError:
        raise Refused(f"Can't parse feature=level string {text}: unable to parse {level} as a short.") from None


def outcome_text(command: str, name: str, level: int, error: Exception | None, *, dry_run: bool) -> str:
    """The line about one feature."""
    if error is not None:
        goal = "" if command == "disable" else f" to {level}"
        return f"{'Can not' if dry_run else 'Could not'} {command} {name}{goal}. {error}"
    done = "disabled." if command == "disable" else f"{command}d to {level}."
    return f"{name} {'can be' if dry_run else 'was'} {done}"


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
