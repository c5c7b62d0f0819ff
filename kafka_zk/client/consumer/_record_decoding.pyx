# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled twin of `record_decoding.py`, which says what it promises."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int32_t, int64_t, uint8_t

from kafka_zk.record._fields cimport NO_PROBLEM, Fields, Problem, add, read_fields

from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.record.walking import decode_headers, walk


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object PyType_GenericAlloc(PyTypeObject* type, Py_ssize_t count)
    void PyObject_GC_UnTrack(void* made)


cdef type RECORD = ConsumerRecord
cdef tuple NO_HEADERS = ()


cdef inline void put(object made, Py_ssize_t index, object field) noexcept:
    Py_INCREF(field)
    PyTuple_SET_ITEM(made, index, field)


cdef inline object bytes_at(const uint8_t* data, Py_ssize_t start, int32_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char*>data + start, size)


def decode_batch(
    buffer,
    Py_ssize_t position,
    Py_ssize_t end,
    Py_ssize_t count,
    topic,
    partition,
    int64_t base_offset,
    int64_t base_timestamp,
    append_timestamp,
    timestamp_type,
    leader_epoch,
    int64_t first_offset,
):
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef Fields fields
    cdef Py_ssize_t index
    cdef int64_t offset
    cdef Py_ssize_t start = position
    cdef bint bad = count < 0
    cdef list records = []
    cdef object made, timestamp, headers
    cdef int64_t last_timestamp = 0
    timestamp = append_timestamp
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        if position < 0 or end < position or end > view.len:
            raise ValueError("the records lie outside of the buffer")
        data = <const uint8_t*>view.buf
        for index in range(count):
            if read_fields(data, position, end, &fields) != NO_PROBLEM:
                bad = True
                break
            position = fields.next
            offset = add(base_offset, fields.offset_delta)
            if offset < first_offset:
                continue
            if append_timestamp is None and (timestamp is None or last_timestamp != fields.timestamp_delta):
                last_timestamp = fields.timestamp_delta
                timestamp = add(base_timestamp, last_timestamp)
            headers = NO_HEADERS
            if data[fields.headers] != 0:
                headers = decode_headers(buffer, fields.headers, fields.next)
            made = PyType_GenericAlloc(<PyTypeObject*>RECORD, 9)
            put(made, 0, topic)
            put(made, 1, partition)
            put(made, 2, offset)
            put(made, 3, timestamp)
            put(made, 4, timestamp_type)
            put(made, 5, bytes_at(data, fields.key_start, fields.key_size))
            put(made, 6, bytes_at(data, fields.value_start, fields.value_size))
            put(made, 7, headers)
            put(made, 8, leader_epoch)
            # Nothing in it can refer back to it: a million of them need not be looked through for cycles.
            PyObject_GC_UnTrack(<void*>made)
            records.append(made)
        bad = bad or position != end
    finally:
        PyBuffer_Release(&view)
    if bad:
        walk(buffer, start, end, count, base_timestamp)
    return records
