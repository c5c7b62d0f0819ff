# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Walking the records of a magic 2 batch: the compiled twin of `walker.py`, which says what each function promises.

The C functions read between a position and an end that the caller has checked against the buffer, touch no Python
object and answer with a Problem; only the functions at the bottom raise. Payloads of 64 KiB and more are walked
without the GIL.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kafka_zk.protocol._bytes cimport (
    Output, big_endian, put_big_endian, put_bytes, put_uvarint, write_big_endian,
)
from kafka_zk.record._crc cimport crc_of
from kafka_zk.record._fields cimport (
    BAD_STRUCTURE, NEGATIVE_HEADER_COUNT, NEGATIVE_HEADER_KEY, NEGATIVE_RECORD_COUNT, NO_MORE_RECORDS, NO_PROBLEM,
    RECORD_BEYOND_END, RECORD_NOT_FILLED, RECORDS_LEFT_OVER, TOO_MANY_HEADERS, Fields, Problem, add, read_fields,
    read_header_count, read_span, zigzag,
)

import array

from kafka_zk.record.crc import crc32c

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.types import Record
from kafka_zk.record.walker import LEFT_OVER, MALFORMED, OUTSIDE, PREMATURE_END, TOO_SHORT, Columns

cdef Py_ssize_t GIL_FREE_FROM = 64 * 1024
cdef Py_ssize_t SMALLEST_RECORD = 7
cdef Py_ssize_t HEADER_SIZE = 61
cdef Py_ssize_t LOG_OVERHEAD = 12
cdef Py_ssize_t LEADER_EPOCH_AT = 12
cdef Py_ssize_t CRC_FROM = 21
cdef uint32_t TRANSACTIONAL_BIT = 0x10

cdef array.array INT_COLUMN = array.array("i")
cdef array.array LONG_COLUMN = array.array("q")

cdef struct Summary:
    int64_t max_timestamp
    Py_ssize_t max_index
    int64_t min_timestamp
    bint null_key
    bint consecutive


cdef Problem summarise(
    const uint8_t* data,
    Py_ssize_t position,
    Py_ssize_t end,
    Py_ssize_t count,
    int64_t base_timestamp,
    Summary* summary,
    Fields* fields,
) noexcept nogil:
    cdef Py_ssize_t index
    cdef int64_t timestamp
    cdef Problem problem
    summary.max_timestamp = -1
    summary.max_index = -1
    summary.min_timestamp = INT64_MAX
    summary.null_key = False
    summary.consecutive = True
    for index in range(count):
        problem = read_fields(data, position, end, fields)
        if problem != NO_PROBLEM:
            return problem
        position = fields.next
        timestamp = add(base_timestamp, fields.timestamp_delta)
        if timestamp > summary.max_timestamp:
            summary.max_timestamp = timestamp
            summary.max_index = index
        if timestamp != -1 and timestamp < summary.min_timestamp:
            summary.min_timestamp = timestamp
        if fields.key_size < 0:
            summary.null_key = True
        if fields.offset_delta != index:
            summary.consecutive = False
    return NO_PROBLEM if position == end else RECORDS_LEFT_OVER


cdef object error_for(Problem problem, Fields* fields):
    if problem == NO_MORE_RECORDS:
        return InvalidRecord(PREMATURE_END)
    if problem == RECORDS_LEFT_OVER:
        return InvalidRecord(LEFT_OVER)
    if problem == RECORD_BEYOND_END:
        return InvalidRecord(
            f"Invalid record size: expected {fields.a} bytes in record payload, "
            f"but instead the buffer has only {fields.b} remaining bytes."
        )
    if problem == RECORD_NOT_FILLED:
        return InvalidRecord(
            f"Invalid record size: expected to read {fields.a} bytes in record payload, but instead read {fields.b}"
        )
    if problem == NEGATIVE_HEADER_COUNT:
        return InvalidRecord(f"Found invalid number of record headers {fields.a}")
    if problem == TOO_MANY_HEADERS:
        return InvalidRecord(
            f"Found invalid number of record headers. {fields.a} is larger than the remaining size of the buffer"
        )
    if problem == NEGATIVE_HEADER_KEY:
        return InvalidRecord("Invalid negative header key size")
    if problem == NEGATIVE_RECORD_COUNT:
        return InvalidRecord(f"Found invalid record count {fields.a} in magic v2 batch")
    return InvalidRecord(MALFORMED)


cdef int check_bounds(Py_buffer* view, Py_ssize_t position, Py_ssize_t end) except -1:
    if position < 0 or end < position or end > view.len:
        raise ValueError(OUTSIDE)
    return 0


cdef int check_count(Py_ssize_t count) except -1:
    cdef Fields fields
    fields.a = count
    if count < 0:
        raise error_for(NEGATIVE_RECORD_COUNT, &fields)
    return 0


def walk(buffer, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count, int64_t base_timestamp):
    cdef Py_buffer view
    cdef Summary summary
    cdef Fields fields
    cdef Problem problem
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        check_bounds(&view, position, end)
        check_count(count)
        if end - position < GIL_FREE_FROM:
            problem = summarise(<const uint8_t*>view.buf, position, end, count, base_timestamp, &summary, &fields)
        else:
            with nogil:
                problem = summarise(<const uint8_t*>view.buf, position, end, count, base_timestamp, &summary, &fields)
    finally:
        PyBuffer_Release(&view)
    if problem != NO_PROBLEM:
        raise error_for(problem, &fields)
    return (
        summary.max_timestamp,
        summary.max_index,
        summary.min_timestamp,
        True if summary.null_key else False,
        True if summary.consecutive else False,
    )


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object PyType_GenericAlloc(PyTypeObject* type, Py_ssize_t count)


cdef object named(type named_tuple, tuple fields):
    cdef object made = PyType_GenericAlloc(<PyTypeObject*>named_tuple, len(fields))
    cdef Py_ssize_t index
    cdef object field
    for index, field in enumerate(fields):
        Py_INCREF(field)
        PyTuple_SET_ITEM(made, index, field)
    return made


def plain_header(buffer, int64_t max_bytes, bint needs_keys):
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef Summary summary
    cdef Fields fields
    cdef int64_t length, max_timestamp, base_timestamp, producer_id
    cdef int32_t last_offset_delta, base_sequence, count
    cdef uint32_t attributes, crc
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*>view.buf
        if view.len <= HEADER_SIZE or view.readonly or data[16] != 2:
            return None
        length = <int32_t>big_endian(data + 8, 4)
        attributes = <uint32_t>big_endian(data + 21, 2)
        last_offset_delta = <int32_t>big_endian(data + 23, 4)
        producer_id = <int64_t>big_endian(data + 43, 8)
        base_sequence = <int32_t>big_endian(data + 53, 4)
        count = <int32_t>big_endian(data + 57, 4)
        if (
            big_endian(data, 8)
            or length + LOG_OVERHEAD != view.len
            or view.len > max_bytes
            or attributes & ~TRANSACTIONAL_BIT
            or count <= 0
            or last_offset_delta != count - 1
            or (producer_id >= 0 and base_sequence < 0)
        ):
            return None
        crc = crc_of(data + CRC_FROM, view.len - CRC_FROM, crc32c)
        if crc != <uint32_t>big_endian(data + 17, 4):
            return None
        base_timestamp = <int64_t>big_endian(data + 27, 8)
        max_timestamp = <int64_t>big_endian(data + 35, 8)
        if (
            summarise(data, HEADER_SIZE, view.len, count, base_timestamp, &summary, &fields) != NO_PROBLEM
            or summary.max_timestamp != max_timestamp
            or (needs_keys and summary.null_key)
        ):
            return None
        return named(BatchHeader, (
            0, length, <int32_t>big_endian(data + 12, 4), 2, crc, attributes, last_offset_delta, base_timestamp,
            max_timestamp, producer_id, <int16_t>big_endian(data + 51, 2), base_sequence, count,
        ))
    finally:
        PyBuffer_Release(&view)


def assign_offsets(buffer, int64_t base_offset, int32_t leader_epoch):
    cdef Py_buffer view
    PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE)
    try:
        if view.len < HEADER_SIZE:
            raise ValueError(TOO_SHORT)
        write_big_endian(<uint8_t*>view.buf, <uint64_t>base_offset, 8)
        write_big_endian(<uint8_t*>view.buf + LEADER_EPOCH_AT, <uint64_t>leader_epoch, 4)
    finally:
        PyBuffer_Release(&view)


def columns(buffer, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count, int64_t base_timestamp):
    cdef Py_buffer view
    cdef Fields fields
    cdef Problem problem = NO_PROBLEM
    cdef Py_ssize_t index = 0
    cdef Py_ssize_t room
    cdef array.array offset_deltas, timestamps, key_starts, key_sizes, value_starts, value_sizes, header_starts
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        check_bounds(&view, position, end)
        check_count(count)
        # The count is only a claim: more records than this cannot be there, and the walk finds out.
        room = min(count, (end - position) // SMALLEST_RECORD)
        offset_deltas = array.clone(INT_COLUMN, room, zero=False)
        timestamps = array.clone(LONG_COLUMN, room, zero=False)
        key_starts = array.clone(INT_COLUMN, room, zero=False)
        key_sizes = array.clone(INT_COLUMN, room, zero=False)
        value_starts = array.clone(INT_COLUMN, room, zero=False)
        value_sizes = array.clone(INT_COLUMN, room, zero=False)
        header_starts = array.clone(INT_COLUMN, room, zero=False)
        while index < count:
            problem = read_fields(<const uint8_t*>view.buf, position, end, &fields)
            if problem != NO_PROBLEM:
                break
            position = fields.next
            offset_deltas.data.as_ints[index] = fields.offset_delta
            timestamps.data.as_longlongs[index] = add(base_timestamp, fields.timestamp_delta)
            key_starts.data.as_ints[index] = <int32_t>fields.key_start
            key_sizes.data.as_ints[index] = fields.key_size
            value_starts.data.as_ints[index] = <int32_t>fields.value_start
            value_sizes.data.as_ints[index] = fields.value_size
            header_starts.data.as_ints[index] = <int32_t>fields.headers
            index += 1
        if problem == NO_PROBLEM and position != end:
            problem = RECORDS_LEFT_OVER
    finally:
        PyBuffer_Release(&view)
    if problem != NO_PROBLEM:
        raise error_for(problem, &fields)
    return Columns(offset_deltas, timestamps, key_starts, key_sizes, value_starts, value_sizes, header_starts)


cdef tuple headers_at(const uint8_t* data, Py_ssize_t position, Py_ssize_t end):
    cdef Fields fields
    cdef int32_t count, key_size, value_size
    cdef Py_ssize_t key_start, value_start
    cdef list headers
    cdef Problem problem = read_header_count(data, &position, end, &count, &fields)
    if problem != NO_PROBLEM:
        raise error_for(problem, &fields)
    if count == 0:
        return ()
    headers = []
    while count > 0:
        problem = read_span(data, &position, end, &key_start, &key_size)
        if problem == NO_PROBLEM and key_size < 0:
            problem = NEGATIVE_HEADER_KEY
        if problem == NO_PROBLEM:
            problem = read_span(data, &position, end, &value_start, &value_size)
        if problem != NO_PROBLEM:
            raise error_for(problem, &fields)
        headers.append((
            PyUnicode_DecodeUTF8(<const char*>data + key_start, key_size, "replace"),
            bytes_at(data, value_start, value_size),
        ))
        count -= 1
    return tuple(headers)


cdef object bytes_at(const uint8_t* data, Py_ssize_t start, int32_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char*>data + start, size)


def decode_headers(buffer, Py_ssize_t position, Py_ssize_t end):
    cdef Py_buffer view
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        check_bounds(&view, position, end)
        return headers_at(<const uint8_t*>view.buf, position, end)
    finally:
        PyBuffer_Release(&view)


def decode(
    buffer, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count, int64_t base_timestamp, int64_t base_offset
):
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef Fields fields
    cdef Problem problem
    cdef Py_ssize_t index
    cdef list records = []
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        check_bounds(&view, position, end)
        check_count(count)
        data = <const uint8_t*>view.buf
        for index in range(count):
            problem = read_fields(data, position, end, &fields)
            if problem != NO_PROBLEM:
                raise error_for(problem, &fields)
            records.append(named(Record, (
                add(base_offset, fields.offset_delta),
                add(base_timestamp, fields.timestamp_delta),
                bytes_at(data, fields.key_start, fields.key_size),
                bytes_at(data, fields.value_start, fields.value_size),
                headers_at(data, fields.headers, fields.next),
            )))
            position = fields.next
        if position != end:
            raise InvalidRecord(LEFT_OVER)
    finally:
        PyBuffer_Release(&view)
    return records


cdef int put_field(Output* out, object field) except -1:
    """Its size, then its bytes."""
    cdef Py_buffer view
    if field is None:
        return put_uvarint(out, zigzag(-1))
    PyObject_GetBuffer(field, &view, PyBUF_SIMPLE)
    try:
        put_uvarint(out, zigzag(view.len))
        return put_bytes(out, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def encode(records, int64_t base_offset, int64_t base_timestamp):
    cdef Output out = Output(NULL, 0, 0, NULL)
    cdef Output body = Output(NULL, 0, 0, NULL)
    cdef int64_t offset, timestamp
    cdef object key, value, headers, header_key, header_value, offset_delta
    try:
        for offset, timestamp, key, value, headers in records:
            body.size = 0
            put_big_endian(&body, 0, 1)  # attributes
            put_uvarint(&body, zigzag(<int64_t>(<uint64_t>timestamp - <uint64_t>base_timestamp)))
            offset_delta = <object>offset - base_offset
            if not INT32_MIN <= offset_delta <= INT32_MAX:
                raise OverflowError(f"offset {offset} is too far from the base offset {base_offset}")
            put_uvarint(&body, zigzag(<int64_t>(offset - base_offset)))
            put_field(&body, key)
            put_field(&body, value)
            put_uvarint(&body, zigzag(len(headers)))
            for header_key, header_value in headers:
                put_field(&body, (<str?>header_key).encode("utf-8", "replace"))
                put_field(&body, header_value)
            put_uvarint(&out, zigzag(<int64_t>body.size))
            put_bytes(&out, body.data, <Py_ssize_t>body.size)
        return PyByteArray_FromStringAndSize(<char*>out.data, <Py_ssize_t>out.size)
    finally:
        PyMem_RawFree(out.data)
        PyMem_RawFree(body.data)
