# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Building columns from records: the compiled twin of `builder.py`, which says what each method promises.

Room for all that a batch can hold is made before its records are read, so the loop that copies them needs neither
checks nor the GIL; what it wrote counts only once the whole batch was found in order.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kafka_zk.record._fields cimport (
    NEGATIVE_RECORD_COUNT, NO_PROBLEM, RECORDS_LEFT_OVER, Fields, Problem, add, read_fields, read_header_count,
    read_span,
)
from kafka_zk.record._walker cimport check_bounds, error_for

from kafka_zk.record.columns.layout import MAX_DATA_BYTES, TOO_MUCH_DATA, BytesColumn, Columns, HeaderColumns
from kafka_zk.record.walking import decode

cdef Py_ssize_t MOST_BYTES = MAX_DATA_BYTES
cdef Py_ssize_t SMALLEST_RECORD = 7
cdef int LOG_APPEND_TIME = 1


cdef class Store:
    """A bytearray in the making, of which `size` bytes are written. What it once held it makes room for at once."""

    cdef bytearray content
    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef Py_ssize_t expected

    def __cinit__(self):
        self.begin(0)

    cdef int begin(self, Py_ssize_t expected) except -1:
        self.content = PyByteArray_FromStringAndSize(NULL, 0)
        self.size = self.room = 0
        self.expected = expected
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t room
        if self.room - self.size < more:
            room = max(self.size + more, self.room * 2, self.expected)
            PyByteArray_Resize(self.content, room)
            self.data = <uint8_t*>PyByteArray_AS_STRING(self.content)
            self.room = room
        return 0

    cdef bytearray take(self):
        cdef bytearray taken = self.content
        cdef Py_ssize_t size = self.size
        PyByteArray_Resize(taken, size)
        self.begin(size)
        return taken


cdef struct Bytes:
    # Where the next field of a column goes.
    uint8_t* validity
    int32_t* starts
    uint8_t* data
    Py_ssize_t count
    Py_ssize_t null_count
    Py_ssize_t size


cdef inline void put_validity(uint8_t* validity, Py_ssize_t index, bint is_valid) noexcept nogil:
    """One bit. Behind it there may be bits of records that were given up."""
    validity[index >> 3] = <uint8_t>(bits_before(validity, index) | is_valid << (index & 7))


cdef inline uint8_t bits_before(const uint8_t* validity, Py_ssize_t index) noexcept nogil:
    """What stands in the byte of `index` before its bit."""
    return validity[index >> 3] & ((1 << (index & 7)) - 1)


cdef bytearray taken_validity(Store store, Py_ssize_t count):
    if count & 7:
        store.data[count >> 3] = bits_before(store.data, count)
    return store.take()


cdef inline void put(Bytes* column, const uint8_t* data, int32_t size) noexcept nogil:
    """One field; its size is below 0 when null."""
    put_validity(column.validity, column.count, size >= 0)
    if size > 0:
        memcpy(column.data + column.size, data, size)
        column.size += size
    elif size < 0:
        column.null_count += 1
    column.count += 1
    column.starts[column.count] = <int32_t>column.size


cdef class Column:
    """The stores of fields of bytes."""

    cdef Store validity
    cdef Store starts
    cdef Store data
    cdef Py_ssize_t count
    cdef Py_ssize_t null_count

    def __cinit__(self):
        self.validity, self.starts, self.data = Store(), Store(), Store()
        self.begin()

    cdef int begin(self) except -1:
        self.count = self.null_count = 0
        self.starts.reserve(4)
        (<int32_t*>self.starts.data)[0] = 0
        self.starts.size = 4
        return 0

    cdef Bytes room_for(self, Py_ssize_t fields, Py_ssize_t size) except *:
        self.validity.reserve((fields >> 3) + 2)
        self.starts.reserve(4 * fields)
        self.data.reserve(size)
        return Bytes(
            self.validity.data, <int32_t*>self.starts.data, self.data.data, self.count, self.null_count, self.data.size
        )

    cdef void keep(self, const Bytes* written):
        self.count = written.count
        self.null_count = written.null_count
        self.validity.size = (written.count + 7) >> 3
        self.starts.size = 4 * (written.count + 1)
        self.data.size = written.size

    cdef object take(self):
        cdef object null_count = self.null_count
        cdef object validity = taken_validity(self.validity, self.count)
        cdef object taken = BytesColumn(
            null_count, validity if self.null_count else None, self.starts.take(), self.data.take()
        )
        self.begin()
        return taken


cdef struct HeaderTotals:
    Py_ssize_t count
    Py_ssize_t key_bytes
    Py_ssize_t value_bytes
    bint is_ascii


cdef inline bint is_ascii(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t index
    for index in range(size):
        if data[index] & 0x80:
            return False
    return True


cdef Problem total_headers(
    const uint8_t* data, Py_ssize_t position, Py_ssize_t end, Py_ssize_t count, HeaderTotals* totals, Fields* fields
) noexcept nogil:
    cdef Py_ssize_t at, start
    cdef int32_t headers, size
    cdef Problem problem
    for _ in range(count):
        problem = read_fields(data, position, end, fields)
        if problem != NO_PROBLEM:
            return problem
        position = fields.next
        at = fields.headers
        read_header_count(data, &at, position, &headers, fields)
        totals.count += headers
        while headers > 0:
            read_span(data, &at, position, &start, &size)
            totals.key_bytes += size
            totals.is_ascii = totals.is_ascii and is_ascii(data + start, size)
            read_span(data, &at, position, &start, &size)
            totals.value_bytes += max(size, 0)
            headers -= 1
    return NO_PROBLEM


cdef struct Rows:
    # Where the next record goes. `header_starts` is NULL where headers are left out.
    Py_ssize_t count
    int64_t* offsets
    int64_t* timestamps
    int32_t* timestamp_types
    Bytes keys
    Bytes values
    uint8_t* header_validity
    int32_t* header_starts
    Py_ssize_t without_headers
    Bytes header_keys
    Bytes header_values


cdef void put_headers(Rows* rows, const uint8_t* data, Fields* fields) noexcept nogil:
    cdef Py_ssize_t at = fields.headers
    cdef Py_ssize_t start = 0
    cdef int32_t headers, size
    read_header_count(data, &at, fields.next, &headers, fields)
    put_validity(rows.header_validity, rows.count, headers > 0)
    rows.without_headers += headers == 0
    while headers > 0:
        read_span(data, &at, fields.next, &start, &size)
        put(&rows.header_keys, data + start, size)
        read_span(data, &at, fields.next, &start, &size)
        put(&rows.header_values, data + start, size)
        headers -= 1
    rows.header_starts[rows.count + 1] = <int32_t>rows.header_keys.count


cdef Problem put_records(
    Rows* rows,
    const uint8_t* data,
    Py_ssize_t position,
    Py_ssize_t end,
    Py_ssize_t count,
    int64_t base_offset,
    int64_t base_timestamp,
    int64_t first_offset,
    int64_t end_offset,
    int timestamp_type,
    int64_t log_append_time,
    Fields* fields,
) noexcept nogil:
    cdef int64_t offset
    cdef Problem problem
    for _ in range(count):
        problem = read_fields(data, position, end, fields)
        if problem != NO_PROBLEM:
            return problem
        position = fields.next
        offset = add(base_offset, fields.offset_delta)
        if offset < first_offset or offset >= end_offset:
            continue
        rows.offsets[rows.count] = offset
        if timestamp_type == LOG_APPEND_TIME:
            rows.timestamps[rows.count] = log_append_time
        else:
            rows.timestamps[rows.count] = add(base_timestamp, fields.timestamp_delta)
        rows.timestamp_types[rows.count] = timestamp_type
        put(&rows.keys, data + fields.key_start, fields.key_size)
        put(&rows.values, data + fields.value_start, fields.value_size)
        if rows.header_starts != NULL:
            put_headers(rows, data, fields)
        rows.count += 1
    return NO_PROBLEM if position == end else RECORDS_LEFT_OVER


cdef class ColumnBuilder:
    cdef bint with_headers
    cdef Py_ssize_t count
    cdef Py_ssize_t without_headers
    cdef Store offsets
    cdef Store timestamps
    cdef Store timestamp_types
    cdef Column keys
    cdef Column values
    cdef Store header_validity
    cdef Store header_starts
    cdef Column header_keys
    cdef Column header_values

    def __init__(self, *, with_headers):
        self.with_headers = with_headers
        self.offsets, self.timestamps, self.timestamp_types = Store(), Store(), Store()
        self.keys, self.values = Column(), Column()
        self.header_validity, self.header_starts = Store(), Store()
        self.header_keys, self.header_values = Column(), Column()
        self.begin()

    cdef int begin(self) except -1:
        self.count = self.without_headers = 0
        self.header_starts.reserve(4)
        (<int32_t*>self.header_starts.data)[0] = 0
        self.header_starts.size = 4
        return 0

    @property
    def row_count(self):
        return self.count

    @property
    def size_bytes(self):
        return self.held_bytes()

    cdef Py_ssize_t held_bytes(self):
        return (
            self.keys.data.size + self.values.data.size + self.header_keys.data.size + self.header_values.data.size
        )

    def append(
        self,
        buffer,
        Py_ssize_t position,
        Py_ssize_t end,
        Py_ssize_t count,
        int64_t base_offset,
        int64_t base_timestamp,
        int64_t first_offset,
        int64_t end_offset,
        int timestamp_type,
        int64_t log_append_time,
    ):
        cdef Py_buffer view
        cdef const uint8_t* data
        cdef Rows rows
        cdef Fields fields
        cdef HeaderTotals totals = HeaderTotals(0, 0, 0, True)
        cdef Problem problem = NO_PROBLEM
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            check_bounds(&view, position, end)
            data = <const uint8_t*>view.buf
            if count < 0:
                fields.a = count
                raise error_for(NEGATIVE_RECORD_COUNT, &fields)
            if self.with_headers:
                with nogil:
                    problem = total_headers(data, position, end, count, &totals, &fields)
                if problem != NO_PROBLEM:
                    raise error_for(problem, &fields)
            if totals.is_ascii:
                self.require_positions_for(end - position)
                # The count is only a claim: more records than this cannot be there, and the loop finds out.
                rows = self.room_for(min(count, (end - position) // SMALLEST_RECORD), end - position, &totals)
                with nogil:
                    problem = put_records(
                        &rows, data, position, end, count, base_offset, base_timestamp, first_offset, end_offset,
                        timestamp_type, log_append_time, &fields,
                    )
                if problem != NO_PROBLEM:
                    raise error_for(problem, &fields)
                self.keep(&rows)
                return
        finally:
            PyBuffer_Release(&view)
        self.append_mended(
            [
                record._replace(timestamp=log_append_time) if timestamp_type == LOG_APPEND_TIME else record
                for record in decode(buffer, position, end, count, base_timestamp, base_offset)
                if first_offset <= record.offset < end_offset
            ],
            timestamp_type,
        )

    def append_record(self, record, int timestamp_type):
        self.append_mended([record], timestamp_type)

    cdef int append_mended(self, list records, int timestamp_type) except -1:
        """Take records whose header keys are text already."""
        cdef HeaderTotals totals = HeaderTotals(0, 0, 0, True)
        cdef Py_ssize_t size = 0
        cdef Rows rows
        for _, _, key, value, headers in records:
            size += len(key or b"") + len(value or b"")
            if self.with_headers:
                for header_key, header_value in headers:
                    totals.count += 1
                    totals.key_bytes += len(header_key.encode())
                    totals.value_bytes += len(header_value or b"")
        self.require_positions_for(size + totals.key_bytes + totals.value_bytes)
        rows = self.room_for(len(records), size, &totals)
        for offset, timestamp, key, value, headers in records:
            rows.offsets[rows.count] = offset
            rows.timestamps[rows.count] = timestamp
            rows.timestamp_types[rows.count] = timestamp_type
            put_object(&rows.keys, key)
            put_object(&rows.values, value)
            if self.with_headers:
                put_validity(rows.header_validity, rows.count, bool(headers))
                rows.without_headers += not headers
                for header_key, header_value in headers:
                    put_object(&rows.header_keys, header_key.encode())
                    put_object(&rows.header_values, header_value)
                rows.header_starts[rows.count + 1] = <int32_t>rows.header_keys.count
            rows.count += 1
        self.keep(&rows)
        return 0

    def take(self):
        cdef object headers = None
        if self.with_headers:
            validity = taken_validity(self.header_validity, self.count)
            count = self.header_keys.count
            headers = HeaderColumns(
                self.without_headers,
                validity if self.without_headers else None,
                self.header_starts.take(),
                count,
                self.header_keys.take(),
                self.header_values.take(),
            )
        taken = Columns(
            self.count,
            self.offsets.take(),
            self.timestamps.take(),
            self.timestamp_types.take(),
            self.keys.take(),
            self.values.take(),
            headers,
        )
        self.begin()
        return taken

    cdef int require_positions_for(self, Py_ssize_t size) except -1:
        if self.held_bytes() + size > MOST_BYTES:
            raise OverflowError(TOO_MUCH_DATA)
        return 0

    cdef Rows room_for(self, Py_ssize_t count, Py_ssize_t size, const HeaderTotals* totals) except *:
        """Room for `count` records with at most `size` bytes of keys and as many of values, and for their headers."""
        cdef Rows rows
        self.offsets.reserve(8 * count)
        self.timestamps.reserve(8 * count)
        self.timestamp_types.reserve(4 * count)
        rows.count = self.count
        rows.offsets = <int64_t*>self.offsets.data
        rows.timestamps = <int64_t*>self.timestamps.data
        rows.timestamp_types = <int32_t*>self.timestamp_types.data
        rows.keys = self.keys.room_for(count, size)
        rows.values = self.values.room_for(count, size)
        rows.header_starts = NULL
        rows.without_headers = self.without_headers
        if self.with_headers:
            self.header_validity.reserve((count >> 3) + 2)
            self.header_starts.reserve(4 * count)
            rows.header_validity = self.header_validity.data
            rows.header_starts = <int32_t*>self.header_starts.data
            rows.header_keys = self.header_keys.room_for(totals.count, totals.key_bytes)
            rows.header_values = self.header_values.room_for(totals.count, totals.value_bytes)
        return rows

    cdef int keep(self, const Rows* rows) except -1:
        self.count = rows.count
        self.offsets.size = 8 * rows.count
        self.timestamps.size = 8 * rows.count
        self.timestamp_types.size = 4 * rows.count
        self.keys.keep(&rows.keys)
        self.values.keep(&rows.values)
        if self.with_headers:
            self.without_headers = rows.without_headers
            self.header_validity.size = (rows.count + 7) >> 3
            self.header_starts.size = 4 * (rows.count + 1)
            self.header_keys.keep(&rows.header_keys)
            self.header_values.keep(&rows.header_values)
        return 0


cdef int put_object(Bytes* column, object field) except -1:
    cdef Py_buffer view
    if field is None:
        put(column, NULL, -1)
        return 0
    PyObject_GetBuffer(field, &view, PyBUF_SIMPLE)
    try:
        put(column, <const uint8_t*>view.buf, <int32_t>view.len)
    finally:
        PyBuffer_Release(&view)
    return 0
