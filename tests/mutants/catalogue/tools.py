"""Faults in what an operator types."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="texts of more than 24 characters stand in quotation marks",
        file="kafka_zk/tools/kafka_consumer_groups/reset_plan.py",
        old="len(text) <= UNCHECKED_LENGTH and",
        new="len(text) < UNCHECKED_LENGTH and",
        tests="tests/unit/tools/consumer_groups/test_reset_plan.py",
    ),
    Mutant(
        breaks="a topic that was named as input is not deleted for its name",
        file="kafka_zk/tools/streams_reset/options.py",
        old='topic not in options.texts("input-topics")\n        and ',
        new="",
        tests="tests/unit/tools/test_streams_reset.py",
    ),
    Mutant(
        breaks="what a broker knows is not what a client of 3.9 can use",
        file="kafka_zk/tools/broker_api_versions.py",
        old="min(api.max_version, highest)",
        new="highest",
        tests="tests/unit/tools/test_small_tools.py",
    ),
    Mutant(
        breaks="what a program of commands requires is missed last, after the command's own words",
        file="kafka_zk/tools/subcommands.py",
        old="        parser = program\n        program.check_required(run)\n        return",
        new="        program.check_required(run)\n        return",
        tests="tests/unit/tools/test_console_refusals.py",
    ),
    Mutant(
        breaks="a feature that the controller does not answer for has failed",
        file="kafka_zk/client/admin/features.py",
        old="found[name] if name in found else _unanswered(name)",
        new="found.get(name)",
        tests="tests/unit/client/admin/test_features.py",
    ),
    Mutant(
        breaks="kafka-log-dirs shows the topics of --topic-list only",
        file="kafka_zk/tools/log_dirs.py",
        old="        if not topics or partition.topic in topics\n",
        new="",
        tests="tests/unit/tools/test_small_tools.py",
    ),
    Mutant(
        breaks="a leader made from directories alone begins an epoch that nobody has written in",
        file="kafka_zk/tools/log_doctor/znodes.py",
        old="leader_epoch=leader.report.latest_epoch + 1",
        new="leader_epoch=leader.report.latest_epoch",
        tests="tests/unit/tools/log_doctor/test_znodes.py",
    ),
    Mutant(
        breaks="a dump shows the records before the first that cannot be read",
        file="kafka_zk/tools/dump_log/records.py",
        old="        for record in records_until_bad(payload, start, header):\n",
        new="        for record in list(records_until_bad(payload, start, header)):\n",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="an index that does not agree with its log is damage",
        file="kafka_zk/tools/dump_log/findings.py",
        old="        self.is_corrupt = True\n        return pairs",
        new="        return pairs",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="a dump's entries of an index end where its unused room begins",
        file="kafka_zk/tools/dump_log/index_files.py",
        old="            if not relative and slot:\n                return  # the room",
        new="            if not relative and slot > 1 << 40:\n                return  # the room",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="what was typed before a stop is read",
        file="kafka_zk/tools/console_producer/lines.py",
        old="            self._left = _waiting_bytes(self._descriptor)\n",
        new="            self._left = 0\n",
        tests="tests/unit/tools/test_lines.py",
    ),
    Mutant(
        breaks="a second signal waits for nothing",
        file="kafka_zk/tools/program.py",
        old="        if later != _DONE:\n            return 128 + later\n",
        new="",
        tests="tests/unit/tools/test_program.py::test_the_code_tells_what_ended_the_program",
    ),
    Mutant(
        breaks="a latency is kept of one record in every so many",
        file="kafka_zk/tools/producer_perf/statistics.py",
        old="if self._count % self._sampling == 0:",
        new="if self._count < SAMPLES:",
        tests="tests/unit/tools/test_producer_perf.py",
    ),
    Mutant(
        breaks="a null header value is null to the formatter, not empty",
        file="kafka_zk/tools/console_consumer/formatters.py",
        old="header_text(null if value is None else value)",
        new='header_text(b"" if value is None else value)',
        tests="tests/unit/tools/test_formatters.py",
    ),
)
