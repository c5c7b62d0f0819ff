# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Decoding and encoding by table: the compiled twin of `decoder.py`, `encoder.py` and `value.py`'s initializers.

A Plan is one struct in one version: a C array of fields with their kinds and the places of their slots in the objects.
What is promised stands in the twins. Here every read is checked against the end before it happens, and objects are
made and filled without running their initializers. Slots are reached by the offset that their descriptors name.
Objects are known to Python (and to its garbage collector) while their slots are still empty; an empty slot is an
AttributeError, as everywhere in Python.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError, PyDict_SetItem
from cpython.float cimport PyFloat_AsDouble, PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLong, PyLong_FromLong, PyLong_FromLongLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_RawFree
from cpython.object cimport Py_NE, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kafka_zk.protocol._bytes cimport Output, big_endian, put_big_endian, put_bytes, put_uvarint

from kafka_zk.protocol import wire
from kafka_zk.protocol.errors import CLASSES, DecodeError, EncodeError, ErrorCode
from kafka_zk.protocol.schema import BYTES, RECORDS, STRING, UUID, Array, Struct
from kafka_zk.protocol.types import uuid_from_bytes
from kafka_zk.protocol.value import ABSENT

cdef extern from *:
    """
    #include <structmember.h>
    /* -1 with an error set when `descriptor` is not the one that `__slots__` made for this very class. */
    static inline Py_ssize_t slot_offset(PyTypeObject* type, PyObject* descriptor) {
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || ((PyMemberDescrObject*)descriptor)->d_common.d_type != type) {
            PyErr_SetString(PyExc_TypeError, "a value class keeps its fields in slots of its own");
            return -1;
        }
        return ((PyMemberDescrObject*)descriptor)->d_member->offset;
    }
    static inline void set_vectorcall(PyTypeObject* type, vectorcallfunc function) {
        type->tp_vectorcall = function;
    }
    """
    ctypedef struct PyTypeObject:
        pass
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject* const*, size_t, PyObject*) except NULL
    Py_ssize_t slot_offset(PyTypeObject* type, PyObject* descriptor) except -1
    void set_vectorcall(PyTypeObject* type, vectorcallfunc function)
    object PyType_GenericAlloc(PyTypeObject* type, Py_ssize_t count)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t index)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* items)
    object PyMemoryView_FromObject(object buffer)
    bint PyObject_IS_GC(object value)
    void PyObject_GC_UnTrack(object value)

UnsupportedVersion = CLASSES[ErrorCode.UNSUPPORTED_VERSION]
UNWRITABLE = (TypeError, AttributeError, UnicodeEncodeError, OverflowError, BufferError)

cdef int CONTROLLED_SHUTDOWN_KEY = 7
cdef int ELEMENTS_A_CALL = 128
cdef Py_ssize_t PART_BYTES = wire.PART_BYTES
cdef Py_ssize_t MAX_STRING_BYTES = wire.MAX_STRING_BYTES
cdef tuple BYTES_LIKE = (bytes, bytearray, memoryview)

cdef enum Kind:
    INT8_KIND
    INT16_KIND
    UINT16_KIND
    INT32_KIND
    UINT32_KIND
    INT64_KIND
    FLOAT64_KIND
    BOOL_KIND
    UUID_KIND
    STRING_KIND
    BYTES_KIND
    RECORDS_KIND
    ARRAY_KIND
    STRUCT_KIND

cdef dict KIND_OF = {
    "b": INT8_KIND, "h": INT16_KIND, "H": UINT16_KIND, "i": INT32_KIND, "I": UINT32_KIND, "q": INT64_KIND,
    "d": FLOAT64_KIND, "?": BOOL_KIND,
}

cdef enum Presence:
    INLINE
    TAGGED
    MISSING  # not in this version

cdef struct Op:
    Kind kind
    Kind element  # of an array
    Presence presence
    uint32_t tag
    bint nullable
    bint ignorable
    bint fresh  # the default is a new list or object
    bint list_may_be_none
    Py_ssize_t offset
    PyObject* fallback  # the default; borrowed from Plan.kept, as the next two
    PyObject* child  # a Plan
    PyObject* name


cdef Kind kind_of(object type) except *:
    if isinstance(type, Array):
        return ARRAY_KIND
    if isinstance(type, Struct):
        return STRUCT_KIND
    if type is STRING:
        return STRING_KIND
    if type is BYTES:
        return BYTES_KIND
    if type is RECORDS:
        return RECORDS_KIND
    if type is UUID:
        return UUID_KIND
    return KIND_OF[type.fixed]


# --- objects -----------------------------------------------------------------------------------------------------------

cdef inline void put(object value, Py_ssize_t offset, object content) noexcept:
    """Fill an empty slot."""
    Py_INCREF(content)
    (<PyObject**>((<char*><PyObject*>value) + offset))[0] = <PyObject*>content


cdef inline object slot_of(object value, object value_class, Py_ssize_t offset, object name):
    cdef PyObject* content
    if type(value) is value_class:
        content = (<PyObject**>((<char*><PyObject*>value) + offset))[0]
        if content != NULL:
            return <object>content
    return getattr(value, name)


cdef inline object get(Plan plan, object value, Op* op):
    return slot_of(value, plan.value_class, op.offset, <object>op.name)


cdef class Maker:
    """Makes objects of one value class, in the place of an initializer: Class(field=..., ...)."""

    cdef object value_class
    cdef tuple names
    cdef tuple defaults  # ABSENT where it is made anew
    cdef tuple inner  # the class of a fresh struct, None for a list
    cdef Py_ssize_t count
    cdef Py_ssize_t* offsets

    def __cinit__(self, type value_class not None, tuple names, tuple defaults, tuple inner):
        self.value_class, self.names, self.defaults, self.inner = value_class, names, defaults, inner
        self.count = len(names)
        if len(defaults) != self.count or len(inner) != self.count:
            raise ValueError("every field has one default")
        self.offsets = <Py_ssize_t*>PyMem_Calloc(max(self.count, 1), sizeof(Py_ssize_t))
        if self.offsets == NULL:
            raise MemoryError()
        for index, name in enumerate(names):
            descriptor = value_class.__dict__[name]
            self.offsets[index] = slot_offset(<PyTypeObject*><PyObject*>value_class, <PyObject*>descriptor)

    def __dealloc__(self):
        PyMem_Free(self.offsets)


cdef dict MAKERS = {}


def make_by_keywords(value_class, tuple names, tuple defaults, tuple inner):
    """Let calls of `value_class` be served here."""
    MAKERS[value_class] = Maker(value_class, names, defaults, inner)
    set_vectorcall(<PyTypeObject*><PyObject*>value_class, make)


cdef PyObject* make(PyObject* callable, PyObject* const* arguments, size_t flagged, PyObject* keywords) except NULL:
    cdef Maker maker = <Maker>MAKERS[<object>callable]
    cdef Py_ssize_t given = 0 if keywords == NULL else PyTuple_GET_SIZE(keywords)
    cdef Py_ssize_t index, guess = 0, tried
    cdef PyObject* name
    cdef object value, default
    if PyVectorcall_NARGS(flagged):
        raise TypeError(f"{maker.value_class.__name__} takes keyword arguments only")
    value = PyType_GenericAlloc(<PyTypeObject*>callable, 0)
    for index in range(given):
        name = PyTuple_GET_ITEM(keywords, index)
        # Callers name the fields in their order, and names are interned: the guess is nearly always right.
        tried = 0
        while tried < maker.count and PyTuple_GET_ITEM(<PyObject*>maker.names, guess) != name:
            guess = guess + 1 if guess + 1 < maker.count else 0
            tried += 1
        if tried == maker.count:
            if <object>name not in maker.names:
                raise TypeError(f"{maker.value_class.__name__} has no field {<object>name!r}")
            guess = maker.names.index(<object>name)
        if (<PyObject**>((<char*><PyObject*>value) + maker.offsets[guess]))[0] != NULL:
            raise TypeError(f"{maker.value_class.__name__} was given {<object>name!r} twice")
        put(value, maker.offsets[guess], <object>arguments[index])
        guess = guess + 1 if guess + 1 < maker.count else 0
    if given < maker.count:
        for index in range(maker.count):
            if (<PyObject**>((<char*><PyObject*>value) + maker.offsets[index]))[0] == NULL:
                default = maker.defaults[index]
                if default is ABSENT:
                    default = [] if maker.inner[index] is None else maker.inner[index]()
                put(value, maker.offsets[index], default)
    Py_INCREF(value)
    return <PyObject*>value


# --- plans -------------------------------------------------------------------------------------------------------------

@cython.no_gc_clear  # what the table borrows must outlive it
cdef class Plan:
    """One struct in one version: `decode` and `encode` as the twins' compiled functions have them."""

    cdef object name
    cdef int version
    cdef bint flexible
    cdef bint has_tagged
    cdef PyTypeObject* type
    cdef object value_class
    cdef tuple kept
    cdef Py_ssize_t count
    cdef Op* ops

    def __cinit__(self, name, struct, int version, bint flexible):
        cdef Op* op
        self.name, self.version, self.flexible = name, version, flexible
        self.value_class = struct.value_class
        self.type = <PyTypeObject*><PyObject*>self.value_class
        kept = []
        # Tagged fields come last, by their tags: that is the order in which they are written.
        fields = sorted(struct.fields, key=lambda field: -1 if field.tag is None else field.tag)
        self.ops = <Op*>PyMem_Calloc(max(len(fields), 1), sizeof(Op))
        if self.ops == NULL:
            raise MemoryError()
        for index, field in enumerate(fields):
            op = &self.ops[index]
            op.kind = kind_of(field.type)
            if op.kind == ARRAY_KIND:
                op.element = kind_of(field.type.element)
            op.presence = MISSING if version not in field.versions else INLINE if field.tag is None else TAGGED
            if op.presence == TAGGED:
                self.has_tagged = True
            op.tag = field.tag or 0
            op.nullable = version in field.nullable
            op.ignorable = field.ignorable
            op.fresh = field.has_fresh_default
            op.list_may_be_none = field.is_nullable
            descriptor = self.value_class.__dict__[field.name]
            op.offset = slot_offset(self.type, <PyObject*>descriptor)
            default = None if op.fresh else field.default
            child = None if field.struct is None else Plan(name, field.struct, version, flexible)
            field_name = field.name
            kept += [default, child, field_name]
            op.fallback, op.child, op.name = <PyObject*>default, <PyObject*>child, <PyObject*>field_name
        self.kept = tuple(kept)
        self.count = len(fields)

    def __dealloc__(self):
        PyMem_Free(self.ops)

    def decode(self, buffer, Py_ssize_t position):
        cdef Py_buffer view
        cdef Reader reader
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            reader.data = <const uint8_t*>view.buf
            reader.at, reader.end = position, view.len
            reader.buffer = <PyObject*>buffer
            reader.give_way = reader.empty = NULL
            if position < 0 or position > view.len:
                return cut_short(&reader)
            return read_struct(self, &reader), reader.at
        except Truncated:
            raise DecodeError(f"Error reading {self.name} v{self.version}: the {view.len} bytes end inside it") from None
        finally:
            PyBuffer_Release(&view)

    def decode_in_turns(self, buffer, Py_ssize_t position, give_way not None):
        """Blocks as `give_way` does, which is called every ELEMENTS_A_CALL elements. Empty arrays are one list."""
        cdef Py_buffer view
        cdef Reader reader
        cdef list empty = []
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            reader.data = <const uint8_t*>view.buf
            reader.at, reader.end = position, view.len
            reader.buffer = <PyObject*>buffer
            reader.give_way, reader.left = <PyObject*>give_way, ELEMENTS_A_CALL
            reader.empty = <PyObject*>empty
            if position < 0 or position > view.len:
                return cut_short(&reader)
            return read_struct(self, &reader), reader.at
        except Truncated:
            raise DecodeError(f"Error reading {self.name} v{self.version}: the {view.len} bytes end inside it") from None
        finally:
            PyBuffer_Release(&view)

    def encode(self, value):
        cdef Output out = Output(NULL, 0, 0, NULL)
        try:
            write_struct(self, &out, value)
            return PyBytes_FromStringAndSize(<char*>out.data, <Py_ssize_t>out.size)
        except UNWRITABLE as error:
            raise EncodeError(f"Error writing {self.name} v{self.version}: {error}") from error
        finally:
            PyMem_RawFree(out.data)

    def encode_in_turns(self, value, give_way not None, Py_ssize_t most_bytes):
        """Blocks as `give_way` does. See encoder.TurnsEncoder."""
        cdef TurnParts turns = TurnParts(give_way, most_bytes)
        cdef Output out = Output(NULL, 0, 0, <PyObject*>turns)
        try:
            write_struct(self, &out, value)
            end_part(&out)
            return turns.parts
        except UNWRITABLE as error:
            raise EncodeError(f"Error writing {self.name} v{self.version}: {error}") from error
        finally:
            PyMem_RawFree(out.data)

    def encode_parts(self, value):
        cdef list parts = []
        cdef Output out = Output(NULL, 0, 0, <PyObject*>parts)
        try:
            write_struct(self, &out, value)
            end_part(&out)
            return parts
        except UNWRITABLE as error:
            raise EncodeError(f"Error writing {self.name} v{self.version}: {error}") from error
        finally:
            PyMem_RawFree(out.data)


# --- reading -----------------------------------------------------------------------------------------------------------

class Truncated(Exception):
    """The buffer ends where a value should go on."""


cdef struct Reader:
    const uint8_t* data
    Py_ssize_t at
    Py_ssize_t end
    PyObject* buffer
    PyObject* give_way  # NULL: read in one go
    int left  # elements until it is called
    PyObject* empty  # the list of all empty arrays; NULL: each its own


cdef inline int count_element(Reader* reader) except -1:
    if reader.give_way != NULL:
        reader.left -= 1
        if reader.left == 0:
            reader.left = ELEMENTS_A_CALL
            (<object>reader.give_way)()
    return 0


cdef object cut_short(Reader* reader):
    raise Truncated


cdef inline const uint8_t* take(Reader* reader, Py_ssize_t size) except NULL:
    """The next `size` bytes, which are there."""
    cdef const uint8_t* start = reader.data + reader.at
    if size > reader.end - reader.at:
        raise Truncated
    reader.at += size
    return start


cdef Py_ssize_t read_uvarint(Reader* reader) except -1:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        byte = take(reader, 1)[0]
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        if shift == 28:
            raise DecodeError("Varint is too long, the most significant bit in the 5th byte is set")
        shift += 7
    if value > 0x7FFFFFFF:
        raise DecodeError(f"Varint {value} is larger than 2147483647")
    return <Py_ssize_t>value


cdef Py_ssize_t read_length(Plan plan, Reader* reader, Kind kind) except -2:
    """Of a string, payload or array; -1 for null."""
    cdef Py_ssize_t length
    if plan.flexible:
        length = read_uvarint(reader) - 1
        if kind == STRING_KIND and length > MAX_STRING_BYTES:
            raise DecodeError(f"String has invalid length {length}")
        return length
    if kind == STRING_KIND:
        length = <int16_t>big_endian(take(reader, 2), 2)
    else:
        length = <int32_t>big_endian(take(reader, 4), 4)
    return length if length >= 0 else -1


cdef object read_scalar(Plan plan, Reader* reader, Kind kind, bint nullable, PyObject* name):
    cdef Py_ssize_t length
    cdef const uint8_t* start
    cdef uint64_t bits
    cdef double number
    if kind == INT32_KIND:
        return PyLong_FromLong(<int32_t>big_endian(take(reader, 4), 4))
    if kind == INT64_KIND:
        return PyLong_FromLongLong(<int64_t>big_endian(take(reader, 8), 8))
    if kind == INT16_KIND:
        return PyLong_FromLong(<int16_t>big_endian(take(reader, 2), 2))
    if kind == INT8_KIND:
        return PyLong_FromLong(<int8_t>take(reader, 1)[0])
    if kind == BOOL_KIND:
        return True if take(reader, 1)[0] else False
    if kind == UINT16_KIND:
        return PyLong_FromLong(<uint16_t>big_endian(take(reader, 2), 2))
    if kind == UINT32_KIND:
        return PyLong_FromLongLong(<uint32_t>big_endian(take(reader, 4), 4))
    if kind == FLOAT64_KIND:
        bits = big_endian(take(reader, 8), 8)
        memcpy(&number, &bits, 8)
        return PyFloat_FromDouble(number)
    if kind == UUID_KIND:
        return uuid_from_bytes(PyBytes_FromStringAndSize(<const char*>take(reader, 16), 16))
    length = read_length(plan, reader, kind)
    if length < 0:
        if nullable:
            return None
        raise wire.null_error(<object>name)
    start = take(reader, length)
    if kind == STRING_KIND:
        return PyUnicode_DecodeUTF8(<const char*>start, length, "replace")
    if kind == BYTES_KIND:
        # Small ones, as a rule: a view would be larger, and keep the frame.
        return PyBytes_FromStringAndSize(<const char*>start, length)
    return PyMemoryView_FromObject(<object>reader.buffer)[reader.at - length : reader.at]


cdef object read_field(Plan plan, Reader* reader, Op* op):
    cdef Py_ssize_t length, index
    cdef list items
    cdef object item
    cdef Plan child
    if op.kind == ARRAY_KIND:
        length = read_length(plan, reader, ARRAY_KIND)
        if length < 0:
            if op.nullable:
                return None
            raise wire.null_error(<object>op.name)
        if length > reader.end - reader.at:
            raise wire.count_error(length, reader.end - reader.at)
        if length == 0 and reader.empty != NULL:
            return <object>reader.empty
        # The count is a claim: the list grows by what is really there.
        items = uncollected([])
        if op.element == STRUCT_KIND:
            child = <Plan>op.child
            for index in range(length):
                items.append(read_struct(child, reader))
                count_element(reader)
        else:
            for index in range(length):
                items.append(read_scalar(plan, reader, op.element, False, op.name))
                count_element(reader)
        return items
    if op.kind == STRUCT_KIND:
        if op.nullable and <int8_t>take(reader, 1)[0] < 0:
            return None
        return read_struct(<Plan>op.child, reader)
    return read_scalar(plan, reader, op.kind, op.nullable, op.name)


cdef object default_of(Op* op):
    if not op.fresh:
        return <object>op.fallback
    return uncollected([]) if op.kind == ARRAY_KIND else (<Plan>op.child).value_class()


cdef object uncollected(object value):
    """The same, out of sight of Python's garbage collector: it would walk the parts of a large message in one go.

    What is read holds no cycle.
    """
    if PyObject_IS_GC(value):
        PyObject_GC_UnTrack(value)
    return value


cdef object read_struct(Plan plan, Reader* reader):
    cdef object value = uncollected(PyType_GenericAlloc(plan.type, 0))
    cdef Py_ssize_t index
    cdef Op* op
    for index in range(plan.count):
        op = &plan.ops[index]
        if op.presence == INLINE:
            put(value, op.offset, read_field(plan, reader, op))
        else:
            put(value, op.offset, default_of(op))
    if plan.flexible:
        read_tags(plan, reader, value)
    return value


cdef int read_tags(Plan plan, Reader* reader, object value) except -1:
    cdef Py_ssize_t tag, size, index
    cdef Py_ssize_t count = read_uvarint(reader)
    cdef PyObject** slot
    cdef PyObject* before
    cdef bint known
    cdef object content
    while count > 0:
        count -= 1
        tag = read_uvarint(reader)
        size = read_uvarint(reader)
        known = False
        if plan.has_tagged:
            for index in range(plan.count):
                if plan.ops[index].presence == TAGGED and plan.ops[index].tag == tag:
                    known = True
                    content = read_field(plan, reader, &plan.ops[index])
                    Py_INCREF(content)
                    slot = <PyObject**>((<char*><PyObject*>value) + plan.ops[index].offset)
                    before = slot[0]
                    slot[0] = <PyObject*>content
                    Py_XDECREF(before)
                    break
        if not known:
            take(reader, size)
    return 0


def read_request_header(frame, Py_ssize_t position, dict flexible_from):
    """See header.read_request_header."""
    cdef Py_buffer view
    cdef Reader reader
    cdef int api_key, api_version, length
    cdef int32_t correlation_id
    cdef object client_id = ""
    cdef const uint8_t* start
    cdef Py_ssize_t count
    PyObject_GetBuffer(frame, &view, PyBUF_SIMPLE)
    try:
        reader.data = <const uint8_t*>view.buf
        reader.at, reader.end = position, view.len
        if position < 0 or position > view.len:
            return cut_short(&reader)
        start = take(&reader, 8)
        api_key = <int16_t>big_endian(start, 2)
        api_version = <int16_t>big_endian(start + 2, 2)
        correlation_id = <int32_t>big_endian(start + 4, 4)
        if api_key not in flexible_from:
            raise DecodeError(f"Unknown API key {api_key}")
        if api_key != CONTROLLED_SHUTDOWN_KEY or api_version != 0:
            length = <int16_t>big_endian(take(&reader, 2), 2)
            if length > 0:
                start = take(&reader, length)
                client_id = PyUnicode_DecodeUTF8(<const char*>start, length, "replace")
            if api_version >= flexible_from[api_key]:
                count = read_uvarint(&reader)
                while count > 0:
                    count -= 1
                    read_uvarint(&reader)
                    take(&reader, read_uvarint(&reader))
        return api_key, api_version, correlation_id, client_id, reader.at
    except Truncated:
        raise DecodeError("Error parsing request header: the frame ends inside it") from None
    finally:
        PyBuffer_Release(&view)


# --- writing -----------------------------------------------------------------------------------------------------------

cdef class TurnParts:
    """What is written in turns, so far."""

    cdef list parts
    cdef object give_way
    cdef Py_ssize_t left_bytes
    cdef int left

    def __cinit__(self, give_way, Py_ssize_t most_bytes):
        self.parts, self.give_way, self.left_bytes, self.left = [], give_way, most_bytes, ELEMENTS_A_CALL


cdef int count_written(TurnParts turns, Output* out) except -1:
    turns.left -= 1
    if <Py_ssize_t>out.size >= PART_BYTES:
        end_part(out)
    if turns.left == 0:
        turns.left = ELEMENTS_A_CALL
        turns.give_way()
    return 0


cdef int put_length(Plan plan, Output* out, Kind kind, Py_ssize_t length) except -1:
    """-1 for null."""
    if plan.flexible:
        if kind == STRING_KIND and length > MAX_STRING_BYTES:
            raise TypeError(f"a string of {length} bytes is too long to be serialized")
        return put_uvarint(out, <uint64_t>(length + 1))
    if kind == STRING_KIND:
        if length > MAX_STRING_BYTES:
            raise TypeError(f"a string of {length} bytes is too long to be serialized")
        return put_big_endian(out, <uint64_t>length, 2)
    if length > 0x7FFFFFFF:
        raise TypeError(f"{length} bytes or elements are too many to be serialized")
    return put_big_endian(out, <uint64_t>length, 4)


cdef int put_integer(Output* out, object value, int64_t low, int64_t high, int width) except -1:
    cdef int64_t number = PyLong_AsLongLong(value)
    if number < low or number > high:
        raise TypeError(f"{value} is out of range: {low} to {high}")
    return put_big_endian(out, <uint64_t>number, width)


cdef int write_scalar(Plan plan, Output* out, Kind kind, bint nullable, object value) except -1:
    cdef Py_ssize_t size
    cdef const char* text
    cdef Py_buffer view
    cdef double number
    cdef uint64_t bits
    cdef bytes raw
    if kind == INT32_KIND:
        return put_integer(out, value, -0x80000000, 0x7FFFFFFF, 4)
    if kind == INT64_KIND:
        return put_big_endian(out, <uint64_t>PyLong_AsLongLong(value), 8)
    if kind == INT16_KIND:
        return put_integer(out, value, -0x8000, 0x7FFF, 2)
    if kind == INT8_KIND:
        return put_integer(out, value, -0x80, 0x7F, 1)
    if kind == BOOL_KIND:
        return put_big_endian(out, 1 if value else 0, 1)
    if kind == UINT16_KIND:
        return put_integer(out, value, 0, 0xFFFF, 2)
    if kind == UINT32_KIND:
        return put_integer(out, value, 0, 0xFFFFFFFF, 4)
    if kind == FLOAT64_KIND:
        number = PyFloat_AsDouble(value)
        memcpy(&bits, &number, 8)
        return put_big_endian(out, bits, 8)
    if kind == UUID_KIND:
        raw = value.bytes
        if len(raw) != 16:
            raise TypeError(f"a uuid has 16 bytes, not {len(raw)}")
        return put_bytes(out, <const char*>raw, 16)
    if value is None:
        if not nullable:
            raise TypeError("null where null is not allowed")
        return put_length(plan, out, kind, -1)
    if kind == STRING_KIND:
        text = PyUnicode_AsUTF8AndSize(value, &size)
        put_length(plan, out, kind, size)
        return put_bytes(out, text, size)
    if kind == RECORDS_KIND and out.parts != NULL and not isinstance(value, BYTES_LIKE):
        return write_slices(plan, out, value)
    PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    try:
        put_length(plan, out, kind, view.len)
        return put_bytes(out, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef int write_slices(Plan plan, Output* out, object slices) except -1:
    """Slices of files stay themselves between the bytes."""
    cdef Py_ssize_t size = 0
    for piece in slices:
        size += piece.size_bytes
    if size < 0:
        raise TypeError(f"slices of {size} bytes")
    put_length(plan, out, RECORDS_KIND, size)
    if slices:
        end_part(out)
        if type(<object>out.parts) is TurnParts:
            (<TurnParts>out.parts).parts.extend(slices)
        else:
            (<list>out.parts).extend(slices)
    return 0


cdef int end_part(Output* out) except -1:
    cdef TurnParts turns
    if out.size:
        part = PyBytes_FromStringAndSize(<char*>out.data, <Py_ssize_t>out.size)
        if type(<object>out.parts) is TurnParts:
            turns = <TurnParts>out.parts
            turns.left_bytes -= <Py_ssize_t>out.size
            if turns.left_bytes < 0:
                raise wire.size_error()
            turns.parts.append(part)
        else:
            (<list>out.parts).append(part)
        out.size = 0
    return 0


cdef int write_field(Plan plan, Output* out, Op* op, object value) except -1:
    cdef Plan child
    cdef TurnParts turns = None
    if op.kind == ARRAY_KIND:
        if value is None:
            if not op.nullable:
                raise TypeError(f"null where null is not allowed: {<object>op.name}")
            return put_length(plan, out, ARRAY_KIND, -1)
        put_length(plan, out, ARRAY_KIND, len(value))
        if out.parts != NULL and type(<object>out.parts) is TurnParts:
            turns = <TurnParts>out.parts
        if op.element == STRUCT_KIND:
            child = <Plan>op.child
            for item in value:
                write_struct(child, out, item)
                if turns is not None:
                    count_written(turns, out)
        else:
            for item in value:
                write_scalar(plan, out, op.element, False, item)
                if turns is not None:
                    count_written(turns, out)
        return 0
    if op.kind == STRUCT_KIND:
        if op.nullable:
            put_big_endian(out, 0xFF if value is None else 1, 1)
            if value is None:
                return 0
        return write_struct(<Plan>op.child, out, value)
    return write_scalar(plan, out, op.kind, op.nullable, value)


cdef int write_struct(Plan plan, Output* out, object value) except -1:
    cdef Py_ssize_t index, tagged = 0
    cdef Op* op
    for index in range(plan.count):
        op = &plan.ops[index]
        if op.presence == INLINE:
            write_field(plan, out, op, get(plan, value, op))
        elif op.presence == TAGGED:
            tagged += differs(op, get(plan, value, op))
        elif not op.ignorable and differs(op, get(plan, value, op)):
            raise UnsupportedVersion(
                f"Attempted to write a non-default {<object>op.name} at version {plan.version}"
            )
    if plan.flexible:
        put_uvarint(out, <uint64_t>tagged)
        if tagged:
            write_tags(plan, out, value)
    return 0


cdef int write_tags(Plan plan, Output* out, object value) except -1:
    cdef Output data = Output(NULL, 0, 0, NULL)
    cdef Py_ssize_t index
    cdef Op* op
    try:
        for index in range(plan.count):
            op = &plan.ops[index]
            if op.presence == TAGGED and differs(op, get(plan, value, op)):
                data.size = 0
                write_field(plan, &data, op, get(plan, value, op))
                put_uvarint(out, op.tag)
                put_uvarint(out, data.size)
                put_bytes(out, data.data, <Py_ssize_t>data.size)
    finally:
        PyMem_RawFree(data.data)
    return 0


cdef bint differs(Op* op, object value) except -1:
    """Whether the field holds something that must not be lost."""
    cdef Plan child
    cdef Py_ssize_t index
    if not op.fresh:
        return value is not <object>op.fallback and (
            <object>op.fallback is None or PyObject_RichCompareBool(value, <object>op.fallback, Py_NE)
        )
    if op.kind == ARRAY_KIND:
        if op.list_may_be_none:
            return value is None or len(value) > 0
        return True if value else False
    child = <Plan>op.child
    for index in range(child.count):
        if differs(&child.ops[index], get(child, value, &child.ops[index])):
            return True
    return False


# --- counting ----------------------------------------------------------------------------------------------------------

cdef class Tally:
    """See tally.Tally."""

    cdef object value_class
    cdef tuple counted  # names
    cdef tuple lists  # (name, Tally) each
    cdef Py_ssize_t* offsets  # of the counted fields, then of the lists

    def __cinit__(self, type value_class not None, tuple counted, tuple lists):
        self.value_class, self.counted, self.lists = value_class, counted, lists
        names = [*counted, *(name for name, _ in lists)]
        self.offsets = <Py_ssize_t*>PyMem_Calloc(max(len(names), 1), sizeof(Py_ssize_t))
        if self.offsets == NULL:
            raise MemoryError()
        for index, name in enumerate(names):
            descriptor = value_class.__dict__[name]
            self.offsets[index] = slot_offset(<PyTypeObject*><PyObject*>value_class, <PyObject*>descriptor)

    def __dealloc__(self):
        PyMem_Free(self.offsets)

    def count(self, value, counts):
        tally(self, value, counts, None)

    def count_in_turns(self, value, counts, give_way not None):
        """Blocks as `give_way` does."""
        tally(self, value, counts, give_way)


cdef int tally(Tally self, object value, object counts, object give_way) except -1:
    cdef int left = ELEMENTS_A_CALL
    cdef Py_ssize_t index, first_list = len(self.counted)
    cdef PyObject* seen
    cdef object code, elements, element
    for index in range(first_list):
        code = slot_of(value, self.value_class, self.offsets[index], self.counted[index])
        seen = PyDict_GetItemWithError(counts, code)
        PyDict_SetItem(counts, code, 1 if seen == NULL else <object>seen + 1)
    for index in range(<Py_ssize_t>len(self.lists)):
        name, inner = self.lists[index]
        elements = slot_of(value, self.value_class, self.offsets[first_list + index], name)
        if elements is not None:
            for element in elements:
                tally(<Tally?>inner, element, counts, give_way)
                if give_way is not None:
                    left -= 1
                    if left == 0:
                        left = ELEMENTS_A_CALL
                        give_way()
    return 0
