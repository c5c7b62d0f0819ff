"""kafka-dump-log.sh: prints the files of a log directory.

Options, texts, streams and exit codes are those of Apache Kafka 3.9's tool. Beyond it: --json, whole directories, and
exit code 2 for damage (docs/compat.md says what counts).
Source: kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kafka_zk.log.files import names
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.common.endings import run_as_program
from kafka_zk.tools.common.java_output import JavaError, stack_trace
from kafka_zk.tools.common.java_text import string
from kafka_zk.tools.common.options import VERSION_TEXT, UsageError, VersionAsked, usage_of
from kafka_zk.tools.dump_log.decoders import DecoderParser, MessageParser, find_decoder
from kafka_zk.tools.dump_log.directories import files_of
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.index_files import IndexChecks, dump_offset_index, dump_time_index
from kafka_zk.tools.dump_log.java_file import Damaged, JavaFile
from kafka_zk.tools.dump_log.log_file import LogContent, dump_log
from kafka_zk.tools.dump_log.options import (
    CLUSTER_METADATA_DECODER,
    KEY_DECODER_CLASS,
    OFFSETS_DECODER,
    REMOTE_LOG_METADATA_DECODER,
    TRANSACTION_LOG_DECODER,
    VALUE_DECODER_CLASS,
    DumpOptions,
)
from kafka_zk.tools.dump_log.output import Output
from kafka_zk.tools.dump_log.report import Report
from kafka_zk.tools.dump_log.state_files import dump_snapshot, dump_transaction_index
from kafka_zk.tools.dump_log.text_report import TextReport

OK, FAILED, DAMAGED = 0, 1, 2
KRAFT_SNAPSHOT = ".checkpoint"
NO_KRAFT = "belongs to KRaft mode, which is not supported."


class Dump:
    """One run over all the files."""

    def __init__(self, options: DumpOptions, report: Report) -> None:
        self._options = options
        self._report = report
        self._findings = Findings()
        self._has_failed = False

    def run(self) -> int:
        """The exit code. Raises JavaError, BrokerError where Apache's tool ends."""
        try:
            for name in self._options.files():
                file = JavaFile(name)
                if os.path.isdir(file.path):
                    self._dump_directory(file)
                else:
                    self._dump(file)
            self._report.findings(self._findings)
        finally:
            self._report.flush()
        if self._findings.is_corrupt:
            return DAMAGED
        return FAILED if self._has_failed else OK

    def _dump_directory(self, directory: JavaFile) -> None:
        """One file that cannot be dumped does not stop the others."""
        for file in files_of(directory):
            try:
                self._dump(file)
            except (JavaError, BrokerError) as error:
                self._report.error(stack_trace(error))
                if is_damage(error):
                    self._findings.is_corrupt = True
                self._has_failed = True

    def _dump(self, file: JavaFile) -> None:
        self._report.file(file)
        report, findings = self._report, self._findings
        match file.suffix:
            case names.LOG:
                dump_log(file, self._log_content(), report, findings)
            case names.OFFSET_INDEX:
                dump_offset_index(file, self._checks, self._options.max_message_size(), report, findings)
            case names.TIME_INDEX:
                dump_time_index(file, self._checks, report, findings)
            case names.PRODUCER_SNAPSHOT:
                dump_snapshot(file, report, findings)
            case names.TRANSACTION_INDEX:
                dump_transaction_index(file, report)
            case suffix if suffix == KRAFT_SNAPSHOT:
                raise JavaError(f"{file} {NO_KRAFT}", "java.lang.UnsupportedOperationException")
            case _:
                report.unknown_file(file)

    @property
    def _checks(self) -> IndexChecks:
        return IndexChecks(self._options.has("index-sanity-check"), self._options.has("verify-index-only"))

    def _log_content(self) -> LogContent:
        parser = self._parser()
        options = self._options
        shown = parser if options.prints_data else None
        return LogContent(options.is_deep, shown, options.skips_metadata, options.max_bytes())

    def _parser(self) -> MessageParser:
        options = self._options
        if options.has(OFFSETS_DECODER):
            from kafka_zk.tools.dump_log.group_records import GroupRecordParser

            return GroupRecordParser()
        if options.has(TRANSACTION_LOG_DECODER):
            from kafka_zk.tools.dump_log.transaction_records import TransactionRecordParser

            return TransactionRecordParser()
        if options.has(CLUSTER_METADATA_DECODER):
            raise JavaError(
                f"What --{CLUSTER_METADATA_DECODER} reads {NO_KRAFT}", "java.lang.UnsupportedOperationException"
            )
        if options.has(REMOTE_LOG_METADATA_DECODER):
            from kafka_zk.tools.dump_log.remote_log_metadata import RemoteLogMetadataParser

            return RemoteLogMetadataParser()
        value = find_decoder(options.decoder_class(VALUE_DECODER_CLASS), self._report.say)
        key = find_decoder(options.decoder_class(KEY_DECODER_CLASS), self._report.say)
        if options.is_json:
            from kafka_zk.tools.dump_log.json_report import text_or_base64

            value = text_or_base64 if value is string else value
            key = text_or_base64 if key is string else key
        return DecoderParser(key, value)


def is_damage(error: Exception) -> bool:
    """Whether the file's bytes are wrong, not the arguments."""
    return isinstance(error, BrokerError | Damaged)


def main(arguments: Sequence[str] | None = None) -> int:
    report: Report = TextReport(Output())
    try:
        options = DumpOptions(list(sys.argv[1:] if arguments is None else arguments))
        if options.is_json:
            from kafka_zk.tools.dump_log.json_report import JsonReport

            report = JsonReport(Output())
        return Dump(options, report).run()
    except UsageError as error:
        print(error, file=sys.stderr)
        print(usage_of("dump_log"), end="", file=sys.stderr)
    except VersionAsked:
        print(VERSION_TEXT)
        return OK
    except (JavaError, BrokerError) as error:
        report.error(stack_trace(error))
        report.flush()
        return DAMAGED if is_damage(error) else FAILED
    except BrokenPipeError:
        # The reader closed the pipe.
        return OK
    return FAILED


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
