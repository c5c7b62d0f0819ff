# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compaction's inner loops: the compiled twin of `filter.py`, which says what each function promises.

Nothing is taken from a payload before all of its records were found whole. The hash of keys is SipHash-2-4 with 128
bits.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kafka_zk.protocol._bytes cimport big_endian
from kafka_zk.record._crc cimport crc_of
from kafka_zk.record._fields cimport (
    NO_PROBLEM, RECORDS_LEFT_OVER, Fields, Problem, add, check_records, read_fields, zigzag,
)
from kafka_zk.record._walker cimport check_bounds, error_for

from kafka_zk.record.compression import codec_for_id
from kafka_zk.record.crc import crc32c
from kafka_zk.record.filter import FilterRun, MapRun, Rewritten, Selection

cdef extern from *:
    void __builtin_prefetch(const void* address) nogil

cdef Py_ssize_t SMALLEST_RECORD = 7
cdef Py_ssize_t HEADER_SIZE = 61
cdef Py_ssize_t LOG_OVERHEAD = 12
cdef Py_ssize_t CRC_FROM = 21
cdef uint32_t SPECIAL_BITS = 0x30  # transactional, control
cdef uint32_t CODEC_BITS = 0x07
cdef uint32_t DELETE_HORIZON_BIT = 0x40
cdef str TABLE_FULL = "the key table is full"


cdef struct Slot:
    uint64_t low
    uint64_t high
    int64_t offset  # + 1; 0: nothing here


cdef struct Key:
    uint64_t low
    uint64_t high


cdef struct Table:
    Slot* slots
    uint64_t slot_count
    uint64_t key0
    uint64_t key1


cdef struct PlainHeader:
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp
    int64_t producer_id
    int32_t count
    uint32_t codec_id
    bint has_horizon
    Py_ssize_t start
    Py_ssize_t end


cdef struct Payload:
    Py_buffer view
    const uint8_t* data
    Py_ssize_t start
    Py_ssize_t end
    bint is_unpacked


# Hashing


cdef inline uint64_t rotate(uint64_t value, int bits) noexcept nogil:
    return value << bits | value >> (64 - bits)


cdef inline void sip_round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] += v[3]
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


cdef void sip_hash(const Table* table, const uint8_t* data, size_t size, Key* key) noexcept nogil:
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef size_t index, rest = size & 7
    cdef int round_number
    v[0] = 0x736f6d6570736575ULL ^ table.key0
    v[1] = 0x646f72616e646f6dULL ^ table.key1 ^ 0xee
    v[2] = 0x6c7967656e657261ULL ^ table.key0
    v[3] = 0x7465646279746573ULL ^ table.key1
    for index in range(size >> 3):
        memcpy(&word, data + (index << 3), 8)
        v[3] ^= word
        sip_round(v)
        sip_round(v)
        v[0] ^= word
    word = <uint64_t>size << 56
    for index in range(rest):
        word |= <uint64_t>data[size - rest + index] << (8 * index)
    v[3] ^= word
    sip_round(v)
    sip_round(v)
    v[0] ^= word
    v[2] ^= 0xee
    for round_number in range(4):
        sip_round(v)
    key.low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xdd
    for round_number in range(4):
        sip_round(v)
    key.high = v[0] ^ v[1] ^ v[2] ^ v[3]


cdef int open_table(Table* table, Py_buffer* view, bytes seed) except -1:
    if len(seed) != 16:
        raise ValueError("a table's seed has 16 bytes")
    table.slots = <Slot*>view.buf
    table.slot_count = <uint64_t>view.len // sizeof(Slot)
    memcpy(&table.key0, PyBytes_AS_STRING(seed), 8)
    memcpy(&table.key1, PyBytes_AS_STRING(seed) + 8, 8)
    return 0


cdef Slot* slot_of(const Table* table, const Key* key) noexcept nogil:
    """The slot of a key, or the free one where it would go; NULL when there is neither."""
    cdef uint64_t tried, at = key.low % table.slot_count
    cdef Slot* slot
    for tried in range(table.slot_count):
        slot = table.slots + at
        if slot.offset == 0 or (slot.low == key.low and slot.high == key.high):
            return slot
        at += 1
        if at == table.slot_count:
            at = 0
    return NULL


cdef inline int put(const Table* table, const Key* key, int64_t offset) noexcept nogil:
    """1: a new key, 0: a known one, -1: no room."""
    cdef Slot* slot = slot_of(table, key)
    cdef bint is_new
    if slot == NULL:
        return -1
    is_new = slot.offset == 0
    if offset + 1 > slot.offset:
        slot.low = key.low
        slot.high = key.high
        slot.offset = offset + 1
    return is_new


cdef inline int64_t find(const Table* table, const Key* key) noexcept nogil:
    cdef Slot* slot = slot_of(table, key)
    return -1 if slot == NULL else slot.offset - 1


# Reading records, some at a time: while one slot of the table comes out of memory, the next ones are on their way.

cdef enum:
    GROUP_SIZE = 32


cdef struct Keyed:
    Key key
    int64_t offset
    bint has_key
    bint has_value


cdef struct Group:
    Keyed records[GROUP_SIZE]
    Py_ssize_t count
    Py_ssize_t next


cdef Problem read_group(
    const Table* table, const uint8_t* data, Py_ssize_t position, Py_ssize_t end, Py_ssize_t most,
    int64_t base_offset, Group* group, Fields* fields,
) noexcept nogil:
    """At most `most` records from `position` on; `group.next` is where the next one starts."""
    cdef Problem problem
    cdef Keyed* record
    group.count = 0
    while group.count < min(most, GROUP_SIZE):
        problem = read_fields(data, position, end, fields)
        if problem != NO_PROBLEM:
            return problem
        position = fields.next
        record = &group.records[group.count]
        record.offset = add(base_offset, fields.offset_delta)
        record.has_key = fields.key_size >= 0
        record.has_value = fields.value_size >= 0
        if record.has_key:
            sip_hash(table, data + fields.key_start, fields.key_size, &record.key)
            __builtin_prefetch(table.slots + record.key.low % table.slot_count)
        group.count += 1
    group.next = position
    return NO_PROBLEM


# Reading batches


cdef int check(Py_buffer* view, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count) except -1:
    """Raises what the walker raises."""
    cdef Fields fields
    cdef Problem problem
    check_bounds(view, position, end)
    problem = check_records(<const uint8_t*>view.buf, position, end, count, &fields)
    if problem != NO_PROBLEM:
        raise error_for(problem, &fields)
    return 0


cdef bint read_plain(const uint8_t* data, Py_ssize_t size, Py_ssize_t position, PlainHeader* header) except -1:
    """Whether a whole batch lies there that is plain; its records are not checked."""
    cdef int32_t length
    cdef uint32_t attributes
    if size - position < HEADER_SIZE or data[position + 16] != 2:
        return False
    data += position
    length = <int32_t>big_endian(data + 8, 4)
    if length < HEADER_SIZE - LOG_OVERHEAD or length + LOG_OVERHEAD > size - position:
        return False
    attributes = <uint32_t>big_endian(data + 21, 2)
    header.count = <int32_t>big_endian(data + 57, 4)
    if attributes & SPECIAL_BITS or header.count < 0:
        return False
    if crc_of(data + CRC_FROM, length + LOG_OVERHEAD - CRC_FROM, crc32c) != <uint32_t>big_endian(data + 17, 4):
        return False
    header.base_offset = <int64_t>big_endian(data, 8)
    header.last_offset = add(header.base_offset, <int32_t>big_endian(data + 23, 4))
    header.base_timestamp = <int64_t>big_endian(data + 27, 8)
    header.producer_id = <int64_t>big_endian(data + 43, 8)
    header.codec_id = attributes & CODEC_BITS
    header.has_horizon = attributes & DELETE_HORIZON_BIT != 0
    header.start = position + HEADER_SIZE
    header.end = position + length + LOG_OVERHEAD
    return True


cdef object open_payload(object buffer, const uint8_t* data, const PlainHeader* header, Payload* payload):
    """Find the records of a batch, unpacked if need be. What is unpacked is also returned; `close_payload` ends it."""
    cdef object unpacked = None
    if header.codec_id and header.count:
        unpacked = codec_for_id(header.codec_id).decompress(memoryview(buffer)[header.start:header.end])
        PyObject_GetBuffer(unpacked, &payload.view, PyBUF_SIMPLE)
        payload.data = <const uint8_t*>payload.view.buf
        payload.start = 0
        payload.end = payload.view.len
    else:
        payload.data = data
        payload.start = header.start
        payload.end = header.end
    payload.is_unpacked = unpacked is not None
    return unpacked


cdef inline void close_payload(Payload* payload) noexcept:
    if payload.is_unpacked:
        PyBuffer_Release(&payload.view)


# Filling a table


cdef struct Filling:
    Py_ssize_t key_count
    Py_ssize_t limit
    int64_t last_put
    bint is_full
    bint has_no_room
    Py_ssize_t taken


cdef void fill(
    const Table* table, const uint8_t* data, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count,
    int64_t base_offset, int64_t start_offset, Filling* filling,
) noexcept nogil:
    """The records were checked."""
    cdef Fields fields
    cdef Group group
    cdef Keyed* record
    cdef Py_ssize_t index
    cdef int outcome
    filling.last_put = -1
    filling.taken = 0
    while filling.taken < count:
        read_group(table, data, position, end, count - filling.taken, base_offset, &group, &fields)
        position = group.next
        for index in range(group.count):
            record = &group.records[index]
            if record.has_key and record.offset >= start_offset:
                if filling.key_count >= filling.limit:
                    filling.is_full = True
                    return
                outcome = put(table, &record.key, record.offset)
                if outcome < 0:
                    filling.has_no_room = True
                    return
                filling.key_count += outcome
                filling.last_put = record.offset
            filling.taken += 1


def put_key(table, bytes seed, key, int64_t offset):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef Key hashed
    cdef int outcome
    PyObject_GetBuffer(table, &slots, PyBUF_WRITABLE)
    try:
        open_table(&opened, &slots, seed)
        PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
        sip_hash(&opened, <const uint8_t*>view.buf, view.len, &hashed)
        outcome = put(&opened, &hashed, offset)
        PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)
    if outcome < 0:
        raise OverflowError(TABLE_FULL)
    return outcome == 1


def find_key(table, bytes seed, key):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef Key hashed
    cdef int64_t offset
    PyObject_GetBuffer(table, &slots, PyBUF_SIMPLE)
    try:
        open_table(&opened, &slots, seed)
        PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
        sip_hash(&opened, <const uint8_t*>view.buf, view.len, &hashed)
        offset = find(&opened, &hashed)
        PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)
    return offset


def map_run(table, bytes seed, Py_ssize_t key_count, Py_ssize_t limit, buffer, Py_ssize_t position, int64_t start_offset):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef PlainHeader header
    cdef Payload payload
    cdef Fields fields
    cdef Filling filling
    cdef const uint8_t* data
    cdef bint is_sound
    cdef int64_t latest_offset = -1
    cdef Py_ssize_t record_count = 0
    filling.key_count = key_count
    filling.limit = limit
    filling.is_full = filling.has_no_room = False
    PyObject_GetBuffer(table, &slots, PyBUF_WRITABLE)
    try:
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            open_table(&opened, &slots, seed)
            data = <const uint8_t*>view.buf
            while read_plain(data, view.len, position, &header):
                open_payload(buffer, data, &header, &payload)
                is_sound = check_records(
                    payload.data, payload.start, payload.end, header.count, &fields
                ) == NO_PROBLEM
                if is_sound:
                    fill(
                        &opened, payload.data, payload.start, payload.end, header.count, header.base_offset,
                        start_offset, &filling,
                    )
                close_payload(&payload)
                if not is_sound:
                    break
                if filling.has_no_room:
                    raise OverflowError(TABLE_FULL)
                record_count += filling.taken
                if filling.is_full:
                    latest_offset = max(latest_offset, filling.last_put)
                    break
                if header.last_offset >= start_offset:
                    latest_offset = header.last_offset
                position = header.end
        finally:
            PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)
    return MapRun(position, filling.key_count, latest_offset, True if filling.is_full else False, record_count)


def put_keys(
    table, bytes seed, Py_ssize_t key_count, Py_ssize_t limit, payload, Py_ssize_t position, Py_ssize_t end,
    Py_ssize_t count, int64_t base_offset, int64_t start_offset,
):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef Filling filling
    filling.key_count = key_count
    filling.limit = limit
    filling.is_full = filling.has_no_room = False
    PyObject_GetBuffer(table, &slots, PyBUF_WRITABLE)
    try:
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            check(&view, position, end, count)
            open_table(&opened, &slots, seed)
            fill(&opened, <const uint8_t*>view.buf, position, end, count, base_offset, start_offset, &filling)
        finally:
            PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)
    if filling.has_no_room:
        raise OverflowError(TABLE_FULL)
    return filling.key_count, filling.last_put, True if filling.is_full else False, filling.taken


# Choosing what stays


cdef struct Chosen:
    Py_ssize_t kept_count
    bint has_tombstones
    Py_ssize_t keyless_count


cdef Problem choose(
    const Table* table, int64_t latest_offset, bint keep_tombstones, const uint8_t* data, Py_ssize_t position,
    Py_ssize_t end, Py_ssize_t count, int64_t base_offset, uint8_t* mask, Chosen* chosen, Fields* fields,
) noexcept nogil:
    """`mask` has a byte for each record that has room between `position` and `end`."""
    cdef Group group
    cdef Keyed* record
    cdef Py_ssize_t index, chosen_count = 0
    cdef bint stays
    cdef Problem problem
    chosen.kept_count = 0
    chosen.has_tombstones = False
    chosen.keyless_count = 0
    if count < 0:
        return check_records(data, position, end, count, fields)
    while chosen_count < count:
        problem = read_group(table, data, position, end, count - chosen_count, base_offset, &group, fields)
        if problem != NO_PROBLEM:
            return problem
        position = group.next
        for index in range(group.count):
            record = &group.records[index]
            if record.offset > latest_offset:
                stays = True
            elif not record.has_key:
                chosen.keyless_count += 1
                stays = False
            elif not record.has_value and not keep_tombstones:
                stays = False
            else:
                stays = record.offset >= find(table, &record.key)
            mask[chosen_count] = stays
            chosen_count += 1
            if stays:
                chosen.kept_count += 1
                if not record.has_value:
                    chosen.has_tombstones = True
    return NO_PROBLEM if position == end else RECORDS_LEFT_OVER


cdef object selection_of(const uint8_t* mask, Py_ssize_t count, const Chosen* chosen):
    return Selection(
        PyBytes_FromStringAndSize(<const char*>mask, count),
        chosen.kept_count,
        True if chosen.has_tombstones else False,
        chosen.keyless_count,
    )


cdef uint8_t* mask_for(uint8_t* mask, Py_ssize_t* capacity, Py_ssize_t payload_size) except NULL:
    """Room for the mask of a payload, `mask` if that is enough."""
    cdef Py_ssize_t wanted = payload_size // SMALLEST_RECORD + 1
    if wanted > capacity[0]:
        mask = <uint8_t*>PyMem_RawRealloc(mask, wanted)
        if mask == NULL:
            raise MemoryError()
        capacity[0] = wanted
    return mask


def select(
    table, bytes seed, int64_t latest_offset, bint keep_tombstones, payload, Py_ssize_t position, Py_ssize_t end,
    Py_ssize_t count, int64_t base_offset,
):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef Chosen chosen
    cdef Fields fields
    cdef Problem problem
    cdef uint8_t* mask = NULL
    cdef Py_ssize_t capacity = 0
    PyObject_GetBuffer(table, &slots, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            check_bounds(&view, position, end)
            open_table(&opened, &slots, seed)
            mask = mask_for(NULL, &capacity, end - position)
            problem = choose(
                &opened, latest_offset, keep_tombstones, <const uint8_t*>view.buf, position, end, count, base_offset,
                mask, &chosen, &fields,
            )
            if problem != NO_PROBLEM:
                raise error_for(problem, &fields)
            return selection_of(mask, count, &chosen)
        finally:
            PyMem_RawFree(mask)
            PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)


def filter_run(
    table, bytes seed, int64_t latest_offset, int64_t now_ms, last_of_producers, buffer, Py_ssize_t position
):
    cdef Py_buffer slots, view
    cdef Table opened
    cdef PlainHeader header
    cdef Payload payload
    cdef Chosen chosen
    cdef Fields fields
    cdef Problem problem
    cdef const uint8_t* data
    cdef uint8_t* mask = NULL
    cdef bint keep_tombstones
    cdef Py_ssize_t read_count = 0, kept_count = 0, keyless_count = 0, range_start = -1, range_end = -1, capacity = 0
    cdef list ranges = []
    cdef object selection = None, unpacked, payload_left = None
    PyObject_GetBuffer(table, &slots, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            open_table(&opened, &slots, seed)
            data = <const uint8_t*>view.buf
            while read_plain(data, view.len, position, &header):
                keep_tombstones = not header.has_horizon or now_ms < header.base_timestamp
                unpacked = open_payload(buffer, data, &header, &payload)
                try:
                    mask = mask_for(mask, &capacity, payload.end - payload.start)
                    problem = choose(
                        &opened, latest_offset, keep_tombstones, payload.data, payload.start, payload.end,
                        header.count, header.base_offset, mask, &chosen, &fields,
                    )
                finally:
                    close_payload(&payload)
                if problem != NO_PROBLEM:
                    break
                if chosen.kept_count:
                    if chosen.kept_count < header.count or (chosen.has_tombstones and not header.has_horizon):
                        selection = selection_of(mask, header.count, &chosen)
                        payload_left = unpacked
                        break
                    if range_end != position:
                        if range_end >= 0:
                            ranges.append((range_start, range_end))
                        range_start = position
                    range_end = header.end
                elif header.producer_id >= 0 and header.last_offset in last_of_producers:
                    break
                read_count += header.count
                kept_count += chosen.kept_count
                keyless_count += chosen.keyless_count
                position = header.end
            if range_end >= 0:
                ranges.append((range_start, range_end))
        finally:
            PyMem_RawFree(mask)
            PyBuffer_Release(&view)
    finally:
        PyBuffer_Release(&slots)
    return FilterRun(position, ranges, read_count, kept_count, keyless_count, selection, payload_left)


# Rewriting


cdef inline Py_ssize_t varint_size(uint64_t raw) noexcept nogil:
    cdef Py_ssize_t size = 1
    while raw > 0x7F:
        size += 1
        raw >>= 7
    return size


cdef inline uint8_t* put_varint(uint8_t* out, uint64_t raw) noexcept nogil:
    while raw > 0x7F:
        out[0] = <uint8_t>(raw & 0x7F | 0x80)
        out += 1
        raw >>= 7
    out[0] = <uint8_t>raw
    return out + 1


cdef inline uint8_t* put_field(uint8_t* out, const uint8_t* data, Py_ssize_t start, int32_t size) noexcept nogil:
    if size < 0:
        return put_varint(out, 1)
    out = put_varint(out, zigzag(size))
    memcpy(out, data + start, size)
    return out + size


def rewrite(
    payload, Py_ssize_t position, Py_ssize_t end, bytes mask, int64_t base_timestamp, new_base_timestamp, stamp
):
    cdef Py_buffer view
    cdef Fields fields
    cdef const uint8_t* data
    cdef const uint8_t* stays = <const uint8_t*>PyBytes_AS_STRING(mask)
    cdef uint8_t* out = NULL
    cdef uint8_t* at
    cdef Py_ssize_t index, size = 0, body, record_capacity
    cdef int64_t timestamp, new_base = -1, max_timestamp = -1, stamped = 0
    cdef uint64_t delta
    cdef bint has_base = new_base_timestamp is not None, has_stamp = stamp is not None
    if has_base:
        new_base = new_base_timestamp
    if has_stamp:
        stamped = stamp
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        check(&view, position, end, len(mask))
        data = <const uint8_t*>view.buf
        # A record grows by nine bytes of timestamp and one of length at most.
        record_capacity = 16 * len(mask) + (end - position)
        out = <uint8_t*>PyMem_RawRealloc(NULL, record_capacity + 1)
        if out == NULL:
            raise MemoryError()
        at = out
        for index in range(len(mask)):
            read_fields(data, position, end, &fields)
            position = fields.next
            if not stays[index]:
                continue
            timestamp = stamped if has_stamp else add(base_timestamp, fields.timestamp_delta)
            if not has_base:
                new_base = timestamp
                has_base = True
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            delta = zigzag(<int64_t>(<uint64_t>timestamp - <uint64_t>new_base))
            body = 1 + varint_size(delta) + varint_size(zigzag(fields.offset_delta)) + (fields.next - fields.headers)
            body += varint_size(zigzag(fields.key_size)) + max(fields.key_size, 0)
            body += varint_size(zigzag(fields.value_size)) + max(fields.value_size, 0)
            at = put_varint(at, zigzag(body))
            at[0] = 0
            at = put_varint(at + 1, delta)
            at = put_varint(at, zigzag(fields.offset_delta))
            at = put_field(at, data, fields.key_start, fields.key_size)
            at = put_field(at, data, fields.value_start, fields.value_size)
            memcpy(at, data + fields.headers, fields.next - fields.headers)
            at += fields.next - fields.headers
        return Rewritten(PyBytes_FromStringAndSize(<char*>out, at - out), new_base, max_timestamp)
    finally:
        PyMem_RawFree(out)
        PyBuffer_Release(&view)
