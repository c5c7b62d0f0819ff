"""What a start would do about a finding, in one sentence.

Role        Pure. It reads the rehearsal; what the loader does not check is served or trusted unchanged.
"""

from __future__ import annotations

from kafka_zk.log.doctor.findings import (
    ABORTED_UNFOUNDED,
    ABORTED_UNLISTED,
    BAD_RECORDS,
    CLEANER_OFFSET_INVALID,
    COMPACTED,
    EPOCH_BEYOND_END,
    EPOCH_MISMATCH,
    EPOCHS_DISORDERED,
    EPOCHS_MALFORMED,
    INDEX_MISSING,
    INDEX_UNTRIMMED,
    LEFT_BY_DELETION,
    LEFT_BY_WRITE,
    START_FAILS,
    TOPIC_ID_MALFORMED,
    TOPIC_ID_MISSING,
    UNKNOWN_FILE,
    UNREADABLE,
    Kind,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles
from kafka_zk.log.doctor.rehearsal import CUT, DELETED, MADE, RENAMED, REWRITTEN, Fate, Rehearsal
from kafka_zk.log.files import names

EPOCH_KINDS = (EPOCHS_MALFORMED, EPOCHS_DISORDERED, EPOCH_BEYOND_END, EPOCH_MISMATCH)
LEFT_ALONE = (LEFT_BY_WRITE, UNKNOWN_FILE)


def prognosis(kind: Kind, file: str, files: PartitionFiles, rehearsal: Rehearsal, *, clean_stop: bool) -> str:
    """`file` is the finding's, empty for the partition."""
    if kind is TOPIC_ID_MISSING:
        return "takes the topic id from the controller and writes it"
    if kind in (START_FAILS, TOPIC_ID_MALFORMED):
        return "takes the log directory offline, or stops"
    if rehearsal.failure or kind is UNREADABLE:
        return "cannot open this partition: takes the log directory offline, or stops"
    if kind is LEFT_BY_DELETION:
        return "deletes them"
    if kind is COMPACTED:
        return "serves it"
    if kind in LEFT_ALONE:
        return "leaves it alone"
    if kind is CLEANER_OFFSET_INVALID:
        return "cleans again from the start of the log"
    fate = rehearsal.fates.get(file)
    if fate is not None:
        return _told(fate, file, files)
    if kind is INDEX_UNTRIMMED:
        return "trims it"
    if not file:
        return _of_the_log(files, rehearsal)
    return _as_it_is(kind, file, clean_stop)


def _told(fate: Fate, file: str, files: PartitionFiles) -> str:
    if fate.action == CUT:
        parsed = names.parse_offset_file(file)
        size = files.sizes[parsed] if parsed is not None else 0
        return f"truncates it at byte {fate.size_bytes}, losing {size - fate.size_bytes} bytes"
    if fate.action == RENAMED:
        return f"renames it to {fate.becomes}"
    if fate.action == DELETED:
        return "deletes it"
    if fate.action == MADE:
        return "builds it from the log"
    assert fate.action == REWRITTEN
    if file.endswith(names.LOG):
        return "replaces it with the cleaned segment"
    return "rebuilds it from the log" if file != names.LEADER_EPOCHS else "corrects it"


def _of_the_log(files: PartitionFiles, rehearsal: Rehearsal) -> str:
    logs = [name for name, fate in rehearsal.fates.items() if name.endswith(names.LOG) and fate.action == DELETED]
    cuts = sum(
        files.sizes[parsed] - fate.size_bytes
        for name, fate in rehearsal.fates.items()
        if fate.action == CUT and (parsed := names.parse_offset_file(name)) is not None
    )
    parts = [f"serves offsets {rehearsal.log_start_offset} to {rehearsal.log_end_offset} (exclusive)"]
    if logs:
        parts.append(f"deletes {len(logs)} segments")
    if cuts:
        parts.append(f"truncates {cuts} bytes")
    return ", ".join(parts)


def _as_it_is(kind: Kind, file: str, clean_stop: bool) -> str:
    if kind in EPOCH_KINDS:
        return "trusts it"
    if kind is BAD_RECORDS:
        return "serves it: records inside a batch are not checked"
    if kind in (ABORTED_UNLISTED, ABORTED_UNFOUNDED):
        return "trusts the transaction index, which is only rebuilt with its segment"
    if file.endswith(names.LOG):
        reason = (
            "nothing is checked after a clean shutdown" if clean_stop else "nothing is checked below the recovery point"
        )
        return f"serves it as it is: {reason}"
    if kind is INDEX_MISSING:
        return "creates an empty one when the index is first needed"
    if file.endswith(names.PRODUCER_SNAPSHOT):
        return "keeps it"
    return "uses it as it is"
