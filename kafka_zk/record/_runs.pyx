# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Runs of batches: the compiled twin of `runs.py`, which says what each function promises."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kafka_zk.protocol._bytes cimport big_endian
from kafka_zk.record._crc cimport crc_of
from kafka_zk.record._walker cimport named

from kafka_zk.record.crc import crc32c
from kafka_zk.record.runs import IndexEntry, Indexing, IndexRun, ProducerRow, Run

cdef Py_ssize_t HEADER_SIZE = 61
cdef Py_ssize_t LOG_OVERHEAD = 12
cdef Py_ssize_t MAGIC_AT = 16
cdef Py_ssize_t CRC_FROM = 21
cdef int64_t MAX_RELATIVE_OFFSET = 0x7FFFFFFF
cdef int TRANSACTIONAL_OR_CONTROL = 0x30

cdef enum:
    REMEMBERED_BATCHES = 5


cdef struct Found:  # a batch
    Py_ssize_t position
    Py_ssize_t size
    int64_t base_offset
    int64_t last_offset
    int32_t offset_delta
    int64_t max_timestamp
    int64_t producer_id
    int16_t producer_epoch
    int32_t last_sequence


cdef struct Known:  # see Indexing
    int64_t max_timestamp
    int64_t offset_of_max_timestamp
    int64_t bytes_since_entry


cdef struct Recent:  # the last batches of one producer epoch
    Found batches[REMEMBERED_BATCHES]
    Py_ssize_t count


cdef inline void read_found(const uint8_t* data, Py_ssize_t position, Found* found) noexcept nogil:
    cdef const uint8_t* at = data + position
    cdef int32_t base_sequence = <int32_t>big_endian(at + 53, 4)
    found.position = position
    found.size = <int32_t>big_endian(at + 8, 4) + LOG_OVERHEAD
    found.base_offset = <int64_t>big_endian(at, 8)
    found.offset_delta = <int32_t>big_endian(at + 23, 4)
    found.last_offset = <int64_t>(<uint64_t>found.base_offset + <uint64_t><int64_t>found.offset_delta)
    found.max_timestamp = <int64_t>big_endian(at + 35, 8)
    found.producer_id = <int64_t>big_endian(at + 43, 8)
    found.producer_epoch = <int16_t>big_endian(at + 51, 2)
    found.last_sequence = -1
    if base_sequence != -1:
        found.last_sequence = <int32_t>((<uint32_t>base_sequence + <uint32_t>found.offset_delta) & 0x7FFFFFFF)


cdef bint is_plain(
    const uint8_t* data, const Found* found, int64_t next_offset, int64_t segment_base, int64_t latest_epoch
) except -1:
    cdef const uint8_t* at = data + found.position
    if (
        at[22] & TRANSACTIONAL_OR_CONTROL
        or <int32_t>big_endian(at + 12, 4) > latest_epoch
        or found.base_offset < next_offset
        or not 0 <= found.last_offset - segment_base <= MAX_RELATIVE_OFFSET
    ):
        return False
    return crc_of(at + CRC_FROM, found.size - CRC_FROM, crc32c) == <uint32_t>big_endian(at + 17, 4)


cdef int take_in(Known* known, list entries, int64_t position, const Found* found, int64_t interval_bytes) except -1:
    if found.max_timestamp > known.max_timestamp:
        known.max_timestamp = found.max_timestamp
        known.offset_of_max_timestamp = found.last_offset
    if known.bytes_since_entry > interval_bytes:
        entries.append(named(IndexEntry, (
            found.last_offset, position, known.max_timestamp, known.offset_of_max_timestamp,
        )))
        known.bytes_since_entry = 0
    known.bytes_since_entry += found.size
    return 0


cdef int tell(Recent* recent, list producers) except -1:
    """What is known of one producer epoch, oldest first."""
    cdef Py_ssize_t index
    cdef Found* found
    for index in range(max(recent.count - REMEMBERED_BATCHES, 0), recent.count):
        found = &recent.batches[index % REMEMBERED_BATCHES]
        producers.append(named(ProducerRow, (
            found.producer_id, found.producer_epoch, found.last_sequence, found.last_offset, found.offset_delta,
            found.max_timestamp,
        )))
    recent.count = 0
    return 0


cdef int remember(Recent* recent, const Found* found, list producers) except -1:
    if recent.count and (
        recent.batches[0].producer_id != found.producer_id
        or recent.batches[0].producer_epoch != found.producer_epoch
    ):
        tell(recent, producers)
    recent.batches[recent.count % REMEMBERED_BATCHES] = found[0]
    recent.count += 1
    return 0


def plain_run(
    object buffer, Py_ssize_t position, int64_t next_offset, int64_t segment_base, int64_t latest_epoch,
    int64_t buffer_at, int64_t interval_bytes, indexing,
):
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef Py_ssize_t end, last = position
    cdef int64_t follows = next_offset
    cdef bint has_last = False
    cdef Found found, before
    cdef Known known
    cdef Recent recent
    cdef list entries = []
    cdef list producers = []
    recent.count = 0
    known.max_timestamp, known.offset_of_max_timestamp, known.bytes_since_entry = indexing
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*>view.buf
        end = view.len
        while end - position >= HEADER_SIZE and data[position + MAGIC_AT] == 2:
            read_found(data, position, &found)
            if found.size < HEADER_SIZE or found.size > end - position:
                break
            if not is_plain(data, &found, follows, segment_base, latest_epoch):
                break
            if has_last:
                take_in(&known, entries, buffer_at + before.position, &before, interval_bytes)
                if before.producer_id >= 0:
                    remember(&recent, &before, producers)
                next_offset = before.last_offset + 1
            before = found
            has_last = True
            last = position
            follows = found.last_offset + 1
            position += found.size
        tell(&recent, producers)
    finally:
        PyBuffer_Release(&view)
    return Run(position, last, next_offset, entries, indexing_of(&known), producers)


def index_run(object data, Py_ssize_t position, int64_t data_at, int64_t interval_bytes, indexing):
    cdef Py_buffer view
    cdef const uint8_t* bytes_at
    cdef int64_t last_offset = -1
    cdef Found found
    cdef Known known
    cdef list entries = []
    known.max_timestamp, known.offset_of_max_timestamp, known.bytes_since_entry = indexing
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        bytes_at = <const uint8_t*>view.buf
        while view.len - position >= HEADER_SIZE and bytes_at[position + MAGIC_AT] == 2:
            read_found(bytes_at, position, &found)
            if found.size < HEADER_SIZE or found.size > view.len - position:
                # Whoever wrote that size: nothing outside the bytes at hand is looked at.
                break
            take_in(&known, entries, data_at + position, &found, interval_bytes)
            last_offset = found.last_offset
            position += found.size
    finally:
        PyBuffer_Release(&view)
    return IndexRun(position, last_offset, entries, indexing_of(&known))


cdef object indexing_of(const Known* known):
    return Indexing(known.max_timestamp, known.offset_of_max_timestamp, known.bytes_since_entry)
