# cython: language_level=3
"""Bytes in the making, and integers among bytes: what the compiled modules share. Only to be cimported."""

from cpython.mem cimport PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef struct Output:
    uint8_t* data  # for its owner to PyMem_RawFree
    size_t size
    size_t capacity
    PyObject* parts  # a list, where slices of files may come between the bytes; else NULL


cdef inline int reserve(Output* out, size_t more) except -1:
    """Have room for `more` bytes."""
    cdef size_t capacity
    cdef void* data
    if out.capacity - out.size < more:
        capacity = max(out.size + more, out.capacity * 2, <size_t>256)
        data = PyMem_RawRealloc(out.data, capacity)
        if data == NULL:
            raise MemoryError()
        out.data = <uint8_t*>data
        out.capacity = capacity
    return 0


cdef inline int put_bytes(Output* out, const void* data, Py_ssize_t size) except -1:
    reserve(out, size)
    if size:
        memcpy(out.data + out.size, data, size)
    out.size += size
    return 0


cdef inline int put_uvarint(Output* out, uint64_t raw) except -1:
    reserve(out, 10)
    while raw > 0x7F:
        out.data[out.size] = <uint8_t>(raw & 0x7F | 0x80)
        out.size += 1
        raw >>= 7
    out.data[out.size] = <uint8_t>raw
    out.size += 1
    return 0


cdef inline int put_big_endian(Output* out, uint64_t raw, int width) except -1:
    reserve(out, width)
    write_big_endian(out.data + out.size, raw, width)
    out.size += width
    return 0


cdef inline void write_big_endian(uint8_t* data, uint64_t raw, int width) noexcept nogil:
    """The low `width` bytes of `raw`."""
    cdef int index
    for index in range(width):
        data[index] = <uint8_t>(raw >> 8 * (width - 1 - index))


cdef inline uint64_t big_endian(const uint8_t* data, int width) noexcept nogil:
    """The `width` bytes from `data` on, as an unsigned number."""
    cdef uint64_t raw = 0
    cdef int index
    for index in range(width):
        raw = raw << 8 | data[index]
    return raw
