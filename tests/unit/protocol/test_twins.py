"""The compiled codec and its pure twin: the same objects, bytes and errors, whatever they are given."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import random
import struct as structs
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID as Uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.coding import CODEC, Codec, PureCodec
from kafka_zk.protocol.errors import DecodeError, EncodeError, UnsupportedVersion
from kafka_zk.protocol.header import read_request_header
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.fetch import (
    FETCH_RESPONSE,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, METADATA_RESPONSE, MetadataRequest
from kafka_zk.protocol.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UUID,
    Array,
    Field,
    Struct,
)
from kafka_zk.protocol.value import Value, compile_init, list_fields

from .golden import all_messages
from .test_vectors import VECTORS, body_of, label, message_of

_codec = pytest.importorskip("kafka_zk.protocol._codec", reason="the compiled codec is not built")

PROJECT = Path(__file__).parents[3]
SEED = int(os.environ.get("FUZZ_SEED", "3901"))
ROUNDS = 100_000
MESSAGES = {message.name: message for message in all_messages()}
VERSIONS = [
    (name, version)
    for name, message in MESSAGES.items()
    for version in range(message.min_version, message.max_version + 1)
]


def compiled_twin(message: Message[Any], version: int) -> Codec:
    plan: Codec = _codec.Plan(message.name, message.struct, version, message.is_flexible(version))
    return plan


def pure_twin(message: Message[Any], version: int) -> Codec:
    return PureCodec(message.name, message.struct, version, message.is_flexible(version))


@cache
def twins(name: str, version: int) -> tuple[Codec, Codec]:
    """The pure one and the compiled one."""
    return pure_twin(MESSAGES[name], version), compiled_twin(MESSAGES[name], version)


TWINS = pytest.mark.parametrize("twin_of", [pure_twin, compiled_twin], ids=["pure", "compiled"])


def told(value: Any) -> Any:
    """All that is in an object, types included: True is not 1, and NaN is itself."""
    if isinstance(value, Value):
        return type(value), [told(getattr(value, name)) for name in value.__slots__]
    if isinstance(value, list):
        return [told(item) for item in value]
    if isinstance(value, memoryview):
        return memoryview, bytes(value)
    return (type(value), structs.pack(">d", value)) if isinstance(value, float) else (type(value), value)


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, or the class of what it raises: only of what the twins promise to raise."""
    try:
        return call(*arguments)
    except (DecodeError, EncodeError, UnsupportedVersion) as error:
        return type(error)


def decoded(twin: Codec, data: Any, position: int = 0) -> Any:
    found = outcome(twin.decode, data, position)
    return (told(found[0]), found[1]) if isinstance(found, tuple) else found


def both_decode(name: str, version: int, data: Any, position: int = 0) -> Any:
    pure, compiled = (decoded(twin, data, position) for twin in twins(name, version))
    assert pure == compiled, (name, version, bytes(data).hex(), position)
    return compiled


def both_encode(name: str, version: int, value: Any) -> Any:
    pure, compiled = (outcome(twin.encode, value) for twin in twins(name, version))
    assert pure == compiled, (name, version, value)
    pure, compiled = (outcome(twin.encode_parts, value) for twin in twins(name, version))
    assert pure == compiled, (name, version, value)
    return compiled


def text_of(error: type[Exception], call: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


def test_the_compiled_codec_is_the_one_that_runs() -> None:
    assert CODEC == "compiled"
    assert type(METADATA_REQUEST.decoder(12).__self__) is _codec.Plan  # type: ignore[attr-defined]


def test_the_suite_of_this_room_holds_where_nothing_is_compiled() -> None:
    hidden = (
        "import sys; sys.modules['kafka_zk.protocol._codec'] = None; import pytest; "
        "from kafka_zk.protocol.coding import CODEC; assert CODEC == 'pure'; "
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/unit/protocol', "
        f"'--ignore=tests/unit/protocol/{Path(__file__).name}']))"
    )
    run = subprocess.run([sys.executable, "-c", hidden], cwd=PROJECT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]


# --- Kafka's own bytes ------------------------------------------------------------------------------------------------


def test_the_twins_read_and_write_every_vector_alike() -> None:
    seen = set()
    for row in VECTORS:
        message, version, data = message_of(row), row["version"], body_of(row)
        for buffer in (data, bytearray(data), memoryview(data)):
            assert isinstance(both_decode(message.name, version, buffer), tuple), label(row)
        value = twins(message.name, version)[0].decode(data, 0)[0]
        assert b"".join(both_encode(message.name, version, value)) == data, label(row)
        seen.add((message.name, version))
    assert seen == set(VERSIONS)


def test_the_twins_agree_on_vectors_with_flipped_and_missing_bytes() -> None:
    print(f"FUZZ_SEED={SEED}")
    chance = random.Random(SEED)
    refused = 0
    for row in VECTORS:
        message, valid = message_of(row), body_of(row)
        for _ in range(12):
            data = bytearray(valid)
            for _ in range(chance.randint(1, 3)):
                if data:
                    data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            del data[chance.choice((len(data), chance.randrange(len(data) + 1))) :]
            refused += both_decode(message.name, row["version"], data) is DecodeError
    assert 1000 < refused < 12 * len(VECTORS)


def test_the_twins_agree_on_lengths_that_are_lies() -> None:
    """At every byte of Kafka's full messages: a length, a count or a tag that claims as much as can be claimed."""
    claims = (b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x80" * 5, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff")
    for row in VECTORS:
        if row["variant"] != "full":
            continue
        message, valid = message_of(row), body_of(row)
        for at in range(0, len(valid), max(1, len(valid) // 10)):
            for claim in claims:
                both_decode(message.name, row["version"], valid[:at] + claim + valid[at + len(claim) :])


# --- values -----------------------------------------------------------------------------------------------------------

RANGES = {"b": (-(2**7), 2**7 - 1), "h": (-(2**15), 2**15 - 1), "H": (0, 2**16 - 1), "i": (-(2**31), 2**31 - 1)}
RANGES |= {"I": (0, 2**32 - 1), "q": (-(2**63), 2**63 - 1)}
TEXTS = st.text(max_size=12) | st.sampled_from(["x" * 126, "x" * 127, "ü" * 64, "x" * 32767])
PAYLOADS = st.binary(max_size=200).flatmap(lambda data: st.sampled_from([data, bytearray(data), memoryview(data)]))


class FileSlice:
    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes


def scalars(type: Any) -> st.SearchStrategy[Any]:
    if type in (STRING, BOOL, UUID, FLOAT64):
        return {STRING: TEXTS, BOOL: st.booleans(), UUID: st.uuids(), FLOAT64: st.floats()}[type]
    if type in (BYTES, RECORDS):
        return PAYLOADS
    return st.integers(*RANGES[type.fixed])


def contents(field: Field, version: int) -> st.SearchStrategy[Any]:
    """What the field may hold in this version."""
    if version not in field.versions:
        return st.nothing()
    if isinstance(field.type, Array):
        inner = field.struct
        element = scalars(field.type.element) if inner is None else values(inner, version)
        found: st.SearchStrategy[Any] = st.lists(element, max_size=3)
    else:
        found = values(field.type, version) if isinstance(field.type, Struct) else scalars(field.type)
    return found | st.none() if version in field.nullable else found


_strategies: dict[tuple[int, int], st.SearchStrategy[Any]] = {}


def values(struct: Struct, version: int) -> st.SearchStrategy[Any]:
    """Objects that this version can carry."""
    found = _strategies.get((id(struct), version))
    if found is None:
        fields = {field.name: contents(field, version) for field in struct.fields if version in field.versions}
        found = _strategies[id(struct), version] = st.builds(struct.value_class, **fields)
    return found


def places(struct: Struct, value: Any) -> Iterator[tuple[Any, Field]]:
    """Every field of every object inside `value`."""
    for field in struct.fields:
        yield value, field
        held = getattr(value, field.name)
        if field.struct is not None and held is not None:
            for inner in held if isinstance(held, list) else [held]:
                yield from places(field.struct, inner)


WRONG: dict[Any, list[Any]] = {
    STRING: [None, b"x", 5, "\ud800", "x" * 32768, "ü" * 16384, ["x"]],
    BYTES: [None, "x", 5, [1], memoryview(b"abcd")[::2]],
    RECORDS: [None, "x", 5, memoryview(b"abcd")[::2], object()],
    UUID: [None, 5, "00000000-0000-0000-0000-000000000000", bytes(16)],
    FLOAT64: [None, "1", 10**400, 7],
    BOOL: [None, 2, "", []],
}
WRONG_NUMBERS = [None, 1.0, "1", b"1", 2**31, 2**32, 2**63, 2**64, -1, -129, -(2**15) - 1, -(2**63) - 1, True]
WRONG_ARRAYS: list[Any] = [None, 5, "ab", "", [None], [object()], ["\ud800"], [2**70], (), {"x": 1}, object()]
WRONG_STRUCTS: list[Any] = [None, 5, "x", object(), MetadataRequest()]


def wrong_contents(field: Field) -> list[Any]:
    if isinstance(field.type, Array):
        return WRONG_ARRAYS
    return WRONG_STRUCTS if isinstance(field.type, Struct) else WRONG.get(field.type, WRONG_NUMBERS)


@settings(max_examples=400, database=None)
@given(st.sampled_from(VERSIONS), st.data())
def test_the_twins_write_the_same_bytes_and_read_them_alike(where: tuple[str, int], data: st.DataObject) -> None:
    name, version = where
    value = data.draw(values(MESSAGES[name].struct, version))
    encoded = b"".join(both_encode(name, version, value))
    assert both_decode(name, version, b"\xff" * 3 + encoded + b"\xff", 3)[1] == 3 + len(encoded)


@settings(max_examples=600, database=None)
@given(st.sampled_from(VERSIONS), st.data())
def test_the_twins_agree_on_an_object_with_one_fault(where: tuple[str, int], data: st.DataObject) -> None:
    name, version = where
    value = copy_of(data.draw(values(MESSAGES[name].struct, version)))
    inside = list(places(MESSAGES[name].struct, value))
    if inside:
        owner, field = data.draw(st.sampled_from(inside))
        setattr(owner, field.name, data.draw(st.sampled_from(wrong_contents(field))))
    both_encode(name, version, value)


def copy_of(value: Any) -> Any:
    """A copy whose objects may be changed; payloads are shared."""
    if isinstance(value, list):
        return [copy_of(item) for item in value]
    if isinstance(value, Value):
        return type(value)(**{name: copy_of(getattr(value, name)) for name in value.__slots__})
    return value


def test_every_field_of_every_version_is_refused_or_written_alike_whatever_it_holds() -> None:
    """One wrong content at a time, in each place of each message: what chance may miss."""
    refused = 0
    for name, version in VERSIONS:
        struct = MESSAGES[name].struct
        base = filled(struct, version)
        for owner, field in list(places(struct, base)):
            right = getattr(owner, field.name)
            for wrong in wrong_contents(field):
                setattr(owner, field.name, wrong)
                pure, compiled = (outcome(twin.encode, base) for twin in twins(name, version))
                assert pure == compiled, (name, version, field, wrong)
                refused += compiled in (EncodeError, UnsupportedVersion)
            setattr(owner, field.name, right)
    assert refused > 10_000


def filled(struct: Struct, version: int) -> Any:
    """An object with one element in each list, so that all its inner structs are there."""
    value = struct.value_class()
    for field in struct.fields:
        if field.struct is not None and version in field.versions:
            inner = filled(field.struct, version)
            setattr(value, field.name, [inner] if isinstance(field.type, Array) else inner)
        elif getattr(value, field.name) is None and version in field.versions and version not in field.nullable:
            setattr(value, field.name, [] if isinstance(field.type, Array) else "")
    return value


@settings(max_examples=600, database=None)
@given(st.sampled_from(VERSIONS), st.binary(max_size=60) | st.lists(st.integers(0, 4), max_size=60).map(bytes))
def test_the_twins_agree_on_random_bytes(where: tuple[str, int], data: bytes) -> None:
    both_decode(*where, data)


@pytest.mark.parametrize("version", [4, 11, 12, 16])
@pytest.mark.parametrize(
    "records",
    [None, b"", b"batch", bytearray(b"batch"), memoryview(b"batch"), [], (), [5], [3, 200], [100_000, 1, 70]],
    ids=lambda records: "memoryview" if isinstance(records, memoryview) else repr(records),
)
def test_the_twins_leave_the_same_slices_between_the_same_bytes(version: int, records: Any) -> None:
    if isinstance(records, (list, tuple)):
        records = [FileSlice(size) for size in records]
    partitions = [PartitionData(partition_index=1, records=records), PartitionData(partition_index=2, records=b"x")]
    value = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    pure, compiled = (twin.encode_parts(value) for twin in twins("FetchResponse", version))
    assert pure == compiled
    assert [part for part in compiled if isinstance(part, FileSlice)] == (records if isinstance(records, list) else [])


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_decoder_starts_inside_its_buffer_or_not_at_all() -> None:
    for name, version in VERSIONS:
        for data in (b"", bytes(40)):
            for position in (-1, -(2**40), len(data) + 1, 2**31, 2**62):
                assert both_decode(name, version, data, position) is DecodeError


REFUSED_BYTES = {
    "null where there must be an array": (METADATA_REQUEST, 0, b"\xff\xff\xff\xff"),
    "null where there must be a string": (METADATA_REQUEST, 9, b"\x02\x00\x00\x00\x00\x00"),
    "more elements than bytes": (METADATA_REQUEST, 0, b"\x00\x00\x00\x09" + bytes(8)),
    "more elements than bytes, in the compact form": (METADATA_REQUEST, 9, b"\x0a" + bytes(8)),
    "two billion elements": (METADATA_REQUEST, 9, b"\xff\xff\xff\xff\x07" + bytes(50)),
    "a string of 32768 bytes": (METADATA_REQUEST, 9, b"\x02\x81\x80\x02" + b"x" * 32768 + bytes(20)),
    "a varint of six bytes": (METADATA_REQUEST, 9, b"\xff\xff\xff\xff\xff\x01"),
    "a varint of 32 bits": (METADATA_REQUEST, 9, b"\xff\xff\xff\xff\x0f" + bytes(9)),
}


@pytest.mark.parametrize("message, version, data", REFUSED_BYTES.values(), ids=REFUSED_BYTES.keys())
def test_the_twins_refuse_bytes_with_the_same_words(message: Message[Any], version: int, data: bytes) -> None:
    pure, compiled = (text_of(DecodeError, twin.decode, data, 0) for twin in twins(message.name, version))
    assert pure == compiled


def test_the_twins_refuse_a_field_that_would_be_lost_with_the_same_words() -> None:
    value = MetadataRequest(include_topic_authorized_operations=True)
    pure, compiled = (text_of(UnsupportedVersion, twin.encode, value) for twin in twins("MetadataRequest", 1))
    assert pure == compiled == "Attempted to write a non-default include_topic_authorized_operations at version 1"


@TWINS
@pytest.mark.parametrize("version, count", [(0, b"\x7f\xff\xff\xff"), (9, b"\xff\xff\xff\xff\x07")])
def test_a_claim_of_two_billion_elements_reserves_no_memory(twin_of: Any, version: int, count: bytes) -> None:
    decode = twin_of(METADATA_REQUEST, version).decode
    tracemalloc.start()
    try:
        assert outcome(decode, count + bytes(1000), 0) is DecodeError
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


class Pretender:
    """Has the attribute that a uuid or a slice is asked for."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


EXAMPLE: Message[Any] = Message(
    "Example",
    versions="0-1",
    flexible="1+",
    fields=(
        Field("id", "0+", UUID),
        Field("small", "0+", INT8),
        Field("text", "0+", STRING, nullable="0+"),
        Field("records", "0+", RECORDS, nullable="0+"),
        Field("numbers", "0+", Array(INT64)),
        Field("inner", "0+", Struct("Inner", (Field("names", "0+", Array(STRING)), Field("count", "0+", INT32)))),
        Field("extra", "1+", INT16, tag=3, default=-1, ignorable=True),
    ),
)
Example, Inner = EXAMPLE.value_class, EXAMPLE.class_of("Inner")


@pytest.mark.parametrize("data", [b"", b"short", bytes(15), bytes(17), bytearray(16), "text", None, 16])
def test_what_only_looks_like_a_uuid_is_not_read_past_its_end(data: Any) -> None:
    with pytest.raises(EncodeError):
        compiled_twin(EXAMPLE, 0).encode(Example(id=Pretender(bytes=data)))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("size", [-1, -200, 2**70, None, "5"])
def test_slices_must_have_a_size(version: int, size: Any) -> None:
    with pytest.raises(EncodeError):
        compiled_twin(EXAMPLE, version).encode_parts(Example(records=[Pretender(size_bytes=size)]))


@TWINS
@pytest.mark.parametrize("name", Example.__slots__)
def test_an_object_whose_field_was_deleted_is_refused(twin_of: Any, name: str) -> None:
    value = Example()
    delattr(value, name)
    with pytest.raises(EncodeError):
        twin_of(EXAMPLE, 1).encode(value)


@TWINS
def test_an_object_of_another_class_is_written_by_its_attributes(twin_of: Any) -> None:
    class Heir(Example):  # type: ignore[misc, valid-type]
        __slots__ = ("more",)

    fields = {"id": Uuid(int=5), "small": 3, "text": "x", "numbers": [1], "inner": Inner(count=2)}
    expected = twin_of(EXAMPLE, 1).encode(Example(**fields))
    assert twin_of(EXAMPLE, 1).encode(Heir(**fields)) == expected
    pretender = Pretender(records=None, extra=-1, **fields)
    assert twin_of(EXAMPLE, 1).encode(pretender) == expected
    assert type(Heir()) is Heir


@TWINS
def test_a_failure_inside_a_sequence_is_the_callers(twin_of: Any) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise KeyError("ours")

    class Numbers:
        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Iterator[int]:
            return numbers()

    with pytest.raises(KeyError, match="ours"):
        twin_of(EXAMPLE, 0).encode(Example(numbers=Numbers()))


@TWINS
def test_a_buffer_may_be_resized_after_it_was_read(twin_of: Any) -> None:
    frame = bytearray(METADATA_REQUEST.encode(MetadataRequest(topics=[]), 9))
    twin = twin_of(METADATA_REQUEST, 9)
    twin.decode(frame, 0)
    assert outcome(twin.decode, frame, 3) is DecodeError
    frame.clear()  # a view that was not released would forbid it


# --- objects ----------------------------------------------------------------------------------------------------------


def all_structs() -> list[Struct]:
    return [struct for message in MESSAGES.values() for struct in message.struct.structs()]


def purely(struct: Struct, **fields: Any) -> Any:
    """An object as the initializer in Python makes it."""
    value = struct.value_class.__new__(struct.value_class)
    compile_init(struct.fields)(value, **fields)
    return value


def test_objects_start_as_the_initializer_in_python_would_start_them() -> None:
    chance = random.Random(SEED)
    for struct in all_structs():
        names = [field.name for field in struct.fields]
        for count in {0, 1, len(names) // 2, len(names)}:
            given = {name: object() for name in chance.sample(names, min(count, len(names)))}
            for _ in range(3):  # the first object of a class, and later ones
                assert told(struct.value_class(**given)) == told(purely(struct, **given)), (struct, given)


def test_fresh_lists_and_structs_are_never_shared() -> None:
    for struct in all_structs():
        first, second = struct.value_class(), struct.value_class()
        for field in struct.fields:
            if field.has_fresh_default:
                assert getattr(first, field.name) is not getattr(second, field.name), (struct, field)


def test_unknown_names_and_positional_arguments_are_refused_by_the_first_call_and_by_later_ones() -> None:
    for struct in all_structs():
        for _ in range(2):
            with pytest.raises(TypeError):
                struct.value_class(no_such_field=1)
            with pytest.raises(TypeError):
                struct.value_class(1)  # type: ignore[call-arg]
            struct.value_class()


def test_a_class_whose_first_call_fails_is_served_like_every_other() -> None:
    struct = Struct("Late", (Field("number", "0+", INT32, default=7), Field("names", "0+", Array(STRING))))
    late: Any = struct.value_class
    with pytest.raises(TypeError):
        late(numbers=1)
    with pytest.raises(TypeError, match="Late takes keyword arguments only"):
        late(1)
    with pytest.raises(TypeError, match="Late has no field 'numbers'"):
        late(numbers=1)
    assert told(late(number=3)) == told(purely(struct, number=3))


def test_names_need_not_be_interned_nor_in_order() -> None:
    fields = {"inner": Inner(), "".join(["sm", "all"]): 3, "text": "x"}
    assert told(Example(**fields)) == told(purely(EXAMPLE.struct, **fields))
    with pytest.raises(TypeError, match="keywords must be strings"):
        Example(**{1: 2})  # type: ignore[misc]


def test_a_subclass_runs_its_own_initializer() -> None:
    class Heir(ReplicaState):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(replica_id=4)

    assert (Heir().replica_id, Heir().replica_epoch) == (4, -1)


def test_what_is_no_value_class_gets_no_compiled_calls() -> None:
    class Plain:
        number = 5

    for fields in ((("number",), (0,), (None,)), (("number",), (), ()), (("missing",), (0,), (None,))):
        with pytest.raises((TypeError, ValueError, KeyError)):
            _codec.make_by_keywords(Plain, *fields)
    with pytest.raises(TypeError):
        _codec.make_by_keywords(None, (), (), ())
    assert Plain().number == 5


def test_copies_are_equal_and_independent() -> None:
    for row in VECTORS:
        if row["variant"] != "full":
            continue
        message = message_of(row)
        value = message.decode(body_of(row), row["version"])
        shallow = copy.copy(value)
        assert told(shallow) == told(value), label(row)
        assert all(getattr(shallow, name) is getattr(value, name) for name in value.__slots__)
    request = FetchRequest(topics=[], replica_state=ReplicaState(replica_id=3))
    deep = copy.deepcopy(request)
    deep.replica_state.replica_id = 4
    assert told(copy.deepcopy(request)) == told(request) != told(deep)


def test_an_object_whose_class_can_be_found_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    for value_class in (Example, Inner):
        monkeypatch.setattr(value_class, "__module__", __name__)
    decoded_inner = EXAMPLE.decode(EXAMPLE.encode(Example(inner=Inner(names=["a"], count=2)), 1), 1).inner
    for value in (Example(small=3, numbers=[1, 2]), decoded_inner):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert told(pickle.loads(pickle.dumps(value, protocol))) == told(value)


# --- references -------------------------------------------------------------------------------------------------------


class Witness:
    """An object of which every reference is counted: neither immortal nor cached."""


def grown_bytes(work: Callable[[], Any], rounds: int = ROUNDS) -> int:
    """By how much `rounds` of work have let memory grow, after a few to warm up."""
    for _ in range(200):
        work()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(100):
            work()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(rounds):
            work()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def refused(call: Callable[..., Any], *arguments: Any, **fields: Any) -> Callable[[], None]:
    """Work that raises every time."""

    def work() -> None:
        try:
            call(*arguments, **fields)
        except (DecodeError, EncodeError, TypeError):
            return
        raise AssertionError("it was not refused")

    return work


def example() -> Any:
    """Nothing in it is small enough to be shared by the interpreter: what leaks takes memory."""
    inner = Inner(names=["one", "zwölf"], count=70_000)
    return Example(id=Uuid(int=7), text="te\u0308xt", records=b"batch", numbers=[2**40], inner=inner, extra=5000)


def works() -> dict[str, Callable[[], Any]]:
    twin, value = compiled_twin(EXAMPLE, 1), example()
    data = twin.encode(value)
    twice = data[:-5] + b"\x02" + data[-4:] + data[-4:]  # the tagged field two times
    assert twin.decode(twice, 0)[1] == len(twice)
    slices = example()
    slices.records = [FileSlice(10), FileSlice(300)]
    unwritable, late = example(), example()
    unwritable.inner = Inner(names=["a", None])
    late.extra = 2**20
    return {
        "decoding": lambda: twin.decode(data, 0),
        "decoding a field twice": lambda: twin.decode(twice, 0),
        "decoding a frame cut short": refused(twin.decode, data[:-3], 0),
        "encoding": lambda: twin.encode(value),
        "encoding in parts": lambda: twin.encode_parts(slices),
        "an element that cannot be written": refused(twin.encode, unwritable),
        "a tagged field that cannot be written": refused(twin.encode, late),
        "making an object": example,
        "making one with an unknown name": refused(Example, small=3, text="x", no_such_field=3),
        "making one by position": refused(Example, 3),
        "making a plan": lambda: _codec.Plan("Example", EXAMPLE.struct, 1, True),
    }


@pytest.mark.parametrize("name", works().keys())
def test_rounds_leave_no_memory_behind(name: str) -> None:
    rounds = ROUNDS // 10 if name == "making a plan" else ROUNDS
    assert grown_bytes(works()[name], rounds) < 20_000


def test_contents_are_referred_to_as_often_as_they_are_held() -> None:
    witness, plan = Witness(), compiled_twin(EXAMPLE, 1)
    names = [witness]
    before = sys.getrefcount(witness), sys.getrefcount(names), sys.getrefcount(Example)
    for _ in range(1000):
        kept = [Example(text=witness, numbers=names) for _ in range(3)]
        assert (sys.getrefcount(witness), sys.getrefcount(names)) == (before[0] + 3, before[1] + 3)
        refused(Example, text=witness, no_such_field=witness)()
        refused(Example, witness)()
        refused(plan.encode, kept[0])()
        del kept
    assert (sys.getrefcount(witness), sys.getrefcount(names), sys.getrefcount(Example)) == before


def test_defaults_and_names_keep_their_references() -> None:
    default = "a default that is not interned " * 2
    message: Message[Any] = Message(
        "Example", versions="0-1", flexible="1+", fields=(Field("text", "1+", STRING, default=default, tag=0),)
    )
    old, new = compiled_twin(message, 0), compiled_twin(message, 1)
    message.value_class()
    before = sys.getrefcount(default)
    for _ in range(1000):
        assert message.value_class().text is old.decode(b"", 0)[0].text is new.decode(b"\0", 0)[0].text is default
        assert new.decode(b"\1\0\2\2x", 0)[0].text == "x"
        assert (old.encode(message.value_class()), new.encode(message.value_class())) == (b"", b"\0")
    assert sys.getrefcount(default) == before


def test_the_collector_frees_the_cycles_of_what_was_made() -> None:
    def instances() -> int:
        return sum(type(held) is Inner for held in gc.get_objects())

    gc.collect()
    before = instances()
    made = Inner()
    made.names.append(made)
    assert instances() == before + 1
    del made
    gc.collect()
    assert instances() == before


def test_the_collector_does_not_walk_what_was_read() -> None:
    data = compiled_twin(EXAMPLE, 1).encode(example())
    value = compiled_twin(EXAMPLE, 1).decode(data, 0)[0]
    parts = [value, value.inner, *(getattr(value, name) for name in list_fields(type(value)))]
    assert len(parts) > 2
    assert not any(gc.is_tracked(part) for part in parts)


def test_collections_in_the_midst_of_it_do_no_harm() -> None:
    twin, value = compiled_twin(EXAMPLE, 1), example()
    data = twin.encode(value)
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(300):
            assert (told(twin.decode(data, 0)[0])[1][2], len(data)) == (told(value)[1][2], len(twin.encode(value)))
            assert twin.encode(example()) == data
    finally:
        gc.set_threshold(*thresholds)


@TWINS
def test_a_thousand_partitions_are_read_back(twin_of: Any) -> None:
    twin = twin_of(METADATA_RESPONSE, 12)
    partition = METADATA_RESPONSE.class_of("MetadataResponsePartition")
    topic = METADATA_RESPONSE.class_of("MetadataResponseTopic")
    partitions = [partition(partition_index=index, replica_nodes=[0, 1, 2], isr_nodes=[1]) for index in range(1000)]
    value = METADATA_RESPONSE.value_class(topics=[topic(name="flights", topic_id=Uuid(int=7), partitions=partitions)])
    data = twin.encode(value)
    assert (told(twin.decode(data, 0)[0]), twin.decode(data, 0)[1]) == (told(value), len(data))
    assert twin.encode_parts(value) == [data]
    assert FETCH_RESPONSE.encode_parts(FetchResponse(), 12) == [FETCH_RESPONSE.encode(FetchResponse(), 12)]


# --- the request header -----------------------------------------------------------------------------------------------


@settings(max_examples=1000)
@given(st.binary(max_size=24), st.integers(-3, 12), st.sampled_from([None, 0, 3, 7]), st.integers(0, 4))
def test_the_twins_read_the_same_request_headers(data: bytes, at: int, key: int | None, version: int) -> None:
    if key is not None:
        data = structs.pack(">hhi", key, version, 77) + data
    flexible_from = {0: 9, 3: 2, 7: 3}
    assert outcome(read_request_header, data, at, flexible_from) == outcome(
        _codec.read_request_header, data, at, flexible_from
    )
