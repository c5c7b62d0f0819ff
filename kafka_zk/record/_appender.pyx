# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A batch that grows record by record: the compiled twin of `appender.py`, which says what each function promises."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int64_t, uint64_t

from kafka_zk.protocol._bytes cimport Output, put_bytes, put_uvarint, reserve
from kafka_zk.record._fields cimport zigzag

cdef Py_ssize_t HEADER_SIZE = 61


cdef class BatchAppender:
    cdef Output _out
    cdef readonly Py_ssize_t count
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp

    def __cinit__(self):
        self._out = Output(NULL, 0, 0, NULL)
        self.count = 0
        self.base_timestamp = -1
        self.max_timestamp = -1

    def __dealloc__(self):
        PyMem_RawFree(self._out.data)

    @property
    def size_bytes(self):
        return self._out.size

    def append(self, int64_t timestamp, key, value, headers, Py_ssize_t limit_bytes, double ratio):
        cdef Py_buffer key_view, value_view
        cdef Output tail = Output(NULL, 0, 0, NULL)
        cdef Py_ssize_t size
        cdef int64_t base_timestamp = self.base_timestamp if self.count else timestamp
        cdef uint64_t delta = zigzag(<int64_t>(<uint64_t>timestamp - <uint64_t>base_timestamp))
        cdef bint has_key = False, has_value = False
        key_view.len = value_view.len = -1
        try:
            if key is not None:
                PyObject_GetBuffer(key, &key_view, PyBUF_SIMPLE)
                has_key = True
            if value is not None:
                PyObject_GetBuffer(value, &value_view, PyBUF_SIMPLE)
                has_value = True
            put_headers(&tail, headers)
            size = (
                1 + varint_size(delta) + varint_size(zigzag(self.count))
                + field_size(key_view.len) + field_size(value_view.len) + <Py_ssize_t>tail.size
            )
            if self.count and (
                HEADER_SIZE + <double>self._out.size * ratio + size + varint_size(zigzag(size)) > limit_bytes
            ):
                return 0
            # All at once: without memory for it nothing may change. The last of the lengths reserves more than it needs.
            reserve(&self._out, size + 32)
            start = self._out.size
            put_uvarint(&self._out, zigzag(size))
            put_bytes(&self._out, b"\0", 1)
            put_uvarint(&self._out, delta)
            put_uvarint(&self._out, zigzag(self.count))
            put_view(&self._out, &key_view)
            put_view(&self._out, &value_view)
            put_bytes(&self._out, tail.data, <Py_ssize_t>tail.size)
            self.base_timestamp = base_timestamp
            self.max_timestamp = max(self.max_timestamp, timestamp)
            self.count += 1
            return self._out.size - start
        finally:
            PyMem_RawFree(tail.data)
            if has_key:
                PyBuffer_Release(&key_view)
            if has_value:
                PyBuffer_Release(&value_view)

    def payload(self):
        return PyByteArray_FromStringAndSize(<char*>self._out.data, <Py_ssize_t>self._out.size)


cdef int put_headers(Output* out, headers) except -1:
    """Their count, then each with its key and value."""
    cdef Py_buffer view
    cdef object key, value
    put_uvarint(out, zigzag(len(headers)))
    for key, value in headers:
        data = (<str?>key).encode("utf-8", "replace")
        put_uvarint(out, zigzag(len(data)))
        put_bytes(out, <char*>(<bytes>data), len(data))
        if value is None:
            put_uvarint(out, zigzag(-1))
            continue
        PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
        try:
            put_view(out, &view)
        finally:
            PyBuffer_Release(&view)
    return 0


cdef inline int put_view(Output* out, Py_buffer* view) except -1:
    put_uvarint(out, zigzag(view.len))
    return put_bytes(out, view.buf, view.len) if view.len > 0 else 0


cdef inline Py_ssize_t field_size(Py_ssize_t size) noexcept nogil:
    return varint_size(zigzag(size)) + (size if size > 0 else 0)


cdef inline Py_ssize_t varint_size(uint64_t raw) noexcept nogil:
    cdef Py_ssize_t size = 1
    while raw > 0x7F:
        raw >>= 7
        size += 1
    return size
