"""`Message`: one declaration and its codecs, compiled per version on first use.

Role        The object that handlers, channels and logs hold: PRODUCE_REQUEST.decode(...), .encode(...).
Invariants  Compiled functions are kept for the life of the process; a version outside the declared range raises
            UnsupportedVersion, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kafka_zk.protocol.coding import Codec, make_codec
from kafka_zk.protocol.decoder import TurnsDecoder, write_decoder
from kafka_zk.protocol.encoder import Encoder, TurnsEncoder, write_encoder
from kafka_zk.protocol.errors import CLASSES, ErrorCode
from kafka_zk.protocol.schema import Field, Struct, Versions
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

T = TypeVar("T")


class Message(Generic[T]):
    """A request, response or record: declared once, coded by what is compiled from the declaration.

    `api_key` is None for records and embedded payloads. `flexible_from` is the first version with compact
    lengths and tag sections, larger than every version where there is none.
    """

    def __init__(
        self, name: str, *, versions: str, flexible: str, fields: tuple[Field, ...], api_key: int | None = None
    ) -> None:
        self.name = name
        self.api_key = api_key
        self.versions = Versions.parse(versions)
        self.min_version, self.max_version = self.versions
        self.flexible_from = Versions.parse(flexible).low
        self.struct = Struct(name, fields)
        self._codecs: dict[int, Codec] = {}

    def __repr__(self) -> str:
        return f"{self.name} v{self.min_version}-{self.max_version}"

    @property
    def value_class(self) -> type[Value]:
        """The class of the message's objects."""
        return self.struct.value_class

    def class_of(self, name: str) -> type[Value]:
        """The class of the inner struct called `name`."""
        return next(struct.value_class for struct in self.struct.structs() if struct.class_name == name)

    def is_flexible(self, api_version: int) -> bool:
        """Whether this version has compact lengths and tag sections."""
        return api_version >= self.flexible_from

    def decode(self, buffer: Buffer, api_version: int, position: int = 0) -> T:
        """Read one message that starts at `position`; bytes after it are ignored. Raises DecodeError."""
        value: T = self._codec(api_version).decode(buffer, position)[0]
        return value

    def decoder(self, api_version: int) -> Callable[[Buffer, int], tuple[T, int]]:
        """The compiled decoder: (buffer, position) -> (object, next position); raises DecodeError."""
        return self._codec(api_version).decode

    def turns_decoder(self, api_version: int) -> TurnsDecoder:
        """The decoder for large messages: (buffer, position, give_way) -> (object, next position)."""
        return self._codec(api_version).decode_in_turns

    def turns_encoder(self, api_version: int) -> TurnsEncoder:
        """The encoder for messages that may be large: (object, give_way, most bytes) -> parts."""
        return self._codec(api_version).encode_in_turns

    def encode(self, value: T, api_version: int) -> bytes:
        """Write one message. Raises UnsupportedVersion if this version would lose a field, EncodeError for our bugs."""
        return self._codec(api_version).encode(value)

    def encoder(self, api_version: int) -> Encoder:
        """The compiled encoder: object -> bytes."""
        return self._codec(api_version).encode

    def encode_parts(self, value: T, api_version: int) -> list[Any]:
        """Like `encode`, but a records field may hold a sequence of slices, which stay slices between the bytes."""
        return self._codec(api_version).encode_parts(value)

    def decoder_source(self, api_version: int) -> str:
        """The Python source of one version's decoder, to read it."""
        self._check(api_version)
        return write_decoder(self.name, self.struct, api_version, flexible=self.is_flexible(api_version)).text()

    def encoder_source(self, api_version: int) -> str:
        """The Python source of one version's encoder, to read it."""
        self._check(api_version)
        flexible = self.is_flexible(api_version)
        return write_encoder(self.name, self.struct, api_version, flexible=flexible, in_parts=False).text()

    def _codec(self, api_version: int) -> Codec:
        codec = self._codecs.get(api_version)
        if codec is None:
            self._check(api_version)
            codec = make_codec(self.name, self.struct, api_version, self.is_flexible(api_version))
            self._codecs[api_version] = codec
        return codec

    def _check(self, api_version: int) -> None:
        if api_version not in self.versions:
            raise CLASSES[ErrorCode.UNSUPPORTED_VERSION](f"{self.name} has no version {api_version}")
