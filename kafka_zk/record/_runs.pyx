# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Checking a run of batches that need no thought: the compiled twin of `runs.py`, which says what it promises."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t

from kafka_zk.record.crc import crc32c

cdef Py_ssize_t HEADER_SIZE = 61
cdef Py_ssize_t LOG_OVERHEAD = 12
cdef int64_t MAX_RELATIVE_OFFSET = 0x7FFFFFFF
cdef int TRANSACTIONAL_OR_CONTROL = 0x30


cdef inline int32_t _int32(const uint8_t* at) noexcept nogil:
    return <int32_t>((<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3])


cdef inline int64_t _int64(const uint8_t* at) noexcept nogil:
    return (<int64_t>_int32(at) << 32) | <int64_t><uint32_t>_int32(at + 4)


cdef inline int16_t _int16(const uint8_t* at) noexcept nogil:
    return <int16_t>((at[0] << 8) | at[1])


def plain_run(object buffer, Py_ssize_t position, int64_t next_offset, int64_t segment_base, int64_t latest_epoch,
              bint with_producers):
    """See `runs.plain_run`."""
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef const uint8_t* at
    cdef Py_ssize_t end, size
    cdef int64_t base_offset, last_offset, max_timestamp, producer_id
    cdef int32_t length, delta, base_sequence, last_sequence
    cdef list rows = []
    cdef list producers = []
    cdef object window = memoryview(buffer)
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*>view.buf
        end = view.len
        while end - position >= HEADER_SIZE:
            at = data + position
            length = _int32(at + 8)
            size = length + LOG_OVERHEAD
            if at[16] != 2 or size < HEADER_SIZE or size > end - position:
                break
            base_offset = _int64(at)
            delta = _int32(at + 23)
            last_offset = base_offset + delta
            producer_id = _int64(at + 43)
            if (
                at[22] & TRANSACTIONAL_OR_CONTROL
                or _int32(at + 12) > latest_epoch
                or base_offset < next_offset
                or not 0 <= last_offset - segment_base <= MAX_RELATIVE_OFFSET
                or (producer_id >= 0 and not with_producers)
            ):
                break
            if <uint32_t>crc32c(window[position + 21:position + size]) != <uint32_t>_int32(at + 17):
                break
            max_timestamp = _int64(at + 35)
            rows.append((position, size, last_offset, max_timestamp))
            if producer_id >= 0:
                base_sequence = _int32(at + 53)
                last_sequence = -1
                if base_sequence != -1:
                    last_sequence = <int32_t>((<uint32_t>base_sequence + <uint32_t>delta) & <uint32_t>0x7FFFFFFF)
                producers.append((len(rows) - 1, producer_id, _int16(at + 51), last_sequence, delta))
            next_offset = last_offset + 1
            position += size
    finally:
        PyBuffer_Release(&view)
    return rows, producers
