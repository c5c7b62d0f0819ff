"""Options of kafka-dump-log.sh.

Role        Pure. Values are read when a file needs them, as Apache's tool reads them: a wrong --max-bytes is no error
            for an index.
Source      DumpLogSegments.DumpLogSegmentsOptions.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.tools.common.options import Option, Options

DESCRIPTION = (
    "This tool helps to parse a log file and dump its contents to the console, "
    "useful for debugging a seemingly corrupt log segment."
)
MAX_INT32 = 2**31 - 1
_DEFAULT_MAX_MESSAGE_SIZE = 5 * 1024 * 1024

OFFSETS_DECODER = "offsets-decoder"
TRANSACTION_LOG_DECODER = "transaction-log-decoder"
CLUSTER_METADATA_DECODER = "cluster-metadata-decoder"
REMOTE_LOG_METADATA_DECODER = "remote-log-metadata-decoder"
KEY_DECODER_CLASS = "key-decoder-class"
VALUE_DECODER_CLASS = "value-decoder-class"
_DECODERS = (
    OFFSETS_DECODER,
    TRANSACTION_LOG_DECODER,
    CLUSTER_METADATA_DECODER,
    REMOTE_LOG_METADATA_DECODER,
    VALUE_DECODER_CLASS,
    KEY_DECODER_CLASS,
)
_OPTIONS = (
    *(Option(name, takes_value=True) for name in ("files", "max-message-size", "max-bytes")),
    *(Option(name, takes_value=True, value_is_optional=True) for name in (VALUE_DECODER_CLASS, KEY_DECODER_CLASS)),
    *(
        Option(name)
        for name in (
            "print-data-log",
            "verify-index-only",
            "index-sanity-check",
            "deep-iteration",
            OFFSETS_DECODER,
            TRANSACTION_LOG_DECODER,
            CLUSTER_METADATA_DECODER,
            REMOTE_LOG_METADATA_DECODER,
            "skip-record-metadata",
            "help",
            "version",
            "json",
        )
    ),
)


class DumpOptions:
    """What was asked for."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Raises OptionError, UsageError, VersionAsked."""
        self._given = Options(_OPTIONS, arguments)
        self._given.check_help_or_version(without_arguments=DESCRIPTION, help_text=DESCRIPTION)
        self._given.require("files")

    def has(self, name: str) -> bool:
        return self._given.has(name)

    def files(self) -> list[str]:
        """The names between the commas; empty ones at the end are dropped. Raises OptionError."""
        names = (self._given.text("files") or "").split(",")
        while len(names) > 1 and not names[-1]:
            names.pop()
        return [] if names == [""] and self._given.text("files") else names

    @property
    def prints_data(self) -> bool:
        return self.has("print-data-log") or any(map(self.has, _DECODERS))

    @property
    def is_deep(self) -> bool:
        return self.has("deep-iteration") or self.prints_data

    @property
    def skips_metadata(self) -> bool:
        return self.has("skip-record-metadata")

    @property
    def is_json(self) -> bool:
        return self.has("json")

    def decoder_class(self, name: str) -> str | None:
        """The class named by --key-decoder-class or --value-decoder-class. Raises OptionError."""
        return self._given.text(name)

    def max_bytes(self) -> int:
        """Raises OptionError."""
        given = self._given.integer("max-bytes")
        return MAX_INT32 if given is None else given

    def max_message_size(self) -> int:
        """Raises OptionError."""
        given = self._given.integer("max-message-size")
        return _DEFAULT_MAX_MESSAGE_SIZE if given is None else given
