# cython: language_level=3
"""The fields of a magic 2 record: what the compiled modules that look into records share. Only to be cimported.

`walker.py` has the layout and says what is wrong with which bytes. The functions read between a position and an end
that the caller has checked against the buffer, touch no Python object and need no GIL; they answer with a Problem, of
which `_walker.error_for` makes the exception.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef enum Problem:
    NO_PROBLEM
    BAD_STRUCTURE
    NO_MORE_RECORDS
    RECORD_BEYOND_END  # a: size claimed, b: bytes left
    RECORD_NOT_FILLED  # a: size claimed, b: bytes read
    NEGATIVE_HEADER_COUNT  # a: count
    TOO_MANY_HEADERS  # a: count
    NEGATIVE_HEADER_KEY
    RECORDS_LEFT_OVER
    NEGATIVE_RECORD_COUNT  # a: count


cdef struct Fields:
    # One record. Positions are into the buffer; a size of -1 is null; `headers` is where their count stands, `next`
    # where the next record starts. What a Problem says of `a` and `b` stands there.
    int64_t timestamp_delta
    int32_t offset_delta
    Py_ssize_t key_start
    int32_t key_size
    Py_ssize_t value_start
    int32_t value_size
    Py_ssize_t headers
    Py_ssize_t next
    Py_ssize_t a
    Py_ssize_t b


cdef inline Problem read_varint(
    const uint8_t* data, Py_ssize_t* position, Py_ssize_t end, int32_t* value
) noexcept nogil:
    cdef uint32_t raw = 0
    cdef int shift = 0
    cdef uint8_t byte
    cdef Py_ssize_t at = position[0]
    while True:
        if at >= end or shift > 28:
            return BAD_STRUCTURE
        byte = data[at]
        at += 1
        raw |= <uint32_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    value[0] = <int32_t>((raw >> 1) ^ (0 - (raw & 1)))
    position[0] = at
    return NO_PROBLEM


cdef inline Problem read_varlong(
    const uint8_t* data, Py_ssize_t* position, Py_ssize_t end, int64_t* value
) noexcept nogil:
    cdef uint64_t raw = 0
    cdef int shift = 0
    cdef uint8_t byte
    cdef Py_ssize_t at = position[0]
    while True:
        if at >= end or shift > 63:
            return BAD_STRUCTURE
        byte = data[at]
        at += 1
        raw |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    value[0] = <int64_t>((raw >> 1) ^ (0 - (raw & 1)))
    position[0] = at
    return NO_PROBLEM


cdef inline Problem read_span(
    const uint8_t* data, Py_ssize_t* position, Py_ssize_t end, Py_ssize_t* start, int32_t* size
) noexcept nogil:
    """A length-prefixed field; its size is -1 when null."""
    cdef Problem problem = read_varint(data, position, end, size)
    if problem != NO_PROBLEM:
        return problem
    start[0] = position[0]
    if size[0] < 0:
        size[0] = -1
        return NO_PROBLEM
    if size[0] > end - position[0]:
        return BAD_STRUCTURE
    position[0] += size[0]
    return NO_PROBLEM


cdef inline Problem read_header_count(
    const uint8_t* data, Py_ssize_t* position, Py_ssize_t end, int32_t* count, Fields* fields
) noexcept nogil:
    cdef Problem problem = read_varint(data, position, end, count)
    if problem != NO_PROBLEM:
        return problem
    fields.a = count[0]
    if count[0] < 0:
        return NEGATIVE_HEADER_COUNT
    if count[0] > end - position[0]:
        return TOO_MANY_HEADERS
    return NO_PROBLEM


cdef inline Problem skip_headers(
    const uint8_t* data, Py_ssize_t* position, Py_ssize_t end, Fields* fields
) noexcept nogil:
    cdef int32_t count, size
    cdef Py_ssize_t start
    cdef Problem problem = read_header_count(data, position, end, &count, fields)
    if problem != NO_PROBLEM:
        return problem
    while count > 0:
        problem = read_span(data, position, end, &start, &size)
        if problem != NO_PROBLEM:
            return problem
        if size < 0:
            return NEGATIVE_HEADER_KEY
        problem = read_span(data, position, end, &start, &size)
        if problem != NO_PROBLEM:
            return problem
        count -= 1
    return NO_PROBLEM


cdef inline Problem read_fields(
    const uint8_t* data, Py_ssize_t position, Py_ssize_t end, Fields* fields
) noexcept nogil:
    """One record, from `position`; `fields.next` is where the next one starts."""
    cdef int32_t size
    cdef Py_ssize_t start, stop
    cdef Problem problem
    if position >= end:
        return NO_MORE_RECORDS
    problem = read_varint(data, &position, end, &size)
    if problem != NO_PROBLEM:
        return problem
    if size < 0:
        return BAD_STRUCTURE
    if size > end - position:
        fields.a = size
        fields.b = end - position
        return RECORD_BEYOND_END
    start = position
    stop = position + size
    if size == 0:
        return BAD_STRUCTURE
    position += 1
    problem = read_varlong(data, &position, stop, &fields.timestamp_delta)
    if problem != NO_PROBLEM:
        return problem
    problem = read_varint(data, &position, stop, &fields.offset_delta)
    if problem != NO_PROBLEM:
        return problem
    problem = read_span(data, &position, stop, &fields.key_start, &fields.key_size)
    if problem != NO_PROBLEM:
        return problem
    problem = read_span(data, &position, stop, &fields.value_start, &fields.value_size)
    if problem != NO_PROBLEM:
        return problem
    fields.headers = position
    problem = skip_headers(data, &position, stop, fields)
    if problem != NO_PROBLEM:
        return problem
    if position != stop:
        fields.a = size
        fields.b = position - start
        return RECORD_NOT_FILLED
    fields.next = stop
    return NO_PROBLEM


cdef inline int64_t add(int64_t left, int64_t right) noexcept nogil:
    """The sum, wrapping at 64 bits."""
    return <int64_t>(<uint64_t>left + <uint64_t>right)


cdef inline Problem check_records(
    const uint8_t* data, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count, Fields* fields
) noexcept nogil:
    """Whether `count` whole records fill the bytes from `position` to `end`."""
    cdef Py_ssize_t index
    cdef Problem problem
    if count < 0:
        fields.a = count
        return NEGATIVE_RECORD_COUNT
    for index in range(count):
        problem = read_fields(data, position, end, fields)
        if problem != NO_PROBLEM:
            return problem
        position = fields.next
    return NO_PROBLEM if position == end else RECORDS_LEFT_OVER


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
