# cython: language_level=3
"""CRC-32C of a few hundred bytes without a call into Python, which would take longer. Only to be cimported.

What is longer, and everything on a processor without the instruction, goes to `crc.crc32c`.
"""

from cpython.buffer cimport PyBUF_READ
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__x86_64__) && defined(__GNUC__)
    #define KAFKA_ZK_CRC_HERE() __builtin_cpu_supports("sse4.2")
    __attribute__((target("sse4.2"))) static inline uint32_t kafka_zk_crc32c(const uint8_t *data, size_t size) {
        uint64_t crc = 0xFFFFFFFF, word;
        for (; size >= 8; size -= 8, data += 8) {
            memcpy(&word, data, 8);
            crc = __builtin_ia32_crc32di(crc, word);
        }
        for (; size; size--)
            crc = __builtin_ia32_crc32qi((uint32_t)crc, *data++);
        return ~(uint32_t)crc;
    }
    #else
    #define KAFKA_ZK_CRC_HERE() 0
    static inline uint32_t kafka_zk_crc32c(const uint8_t *data, size_t size) { return 0; }
    #endif
    """
    bint KAFKA_ZK_CRC_HERE() nogil
    uint32_t kafka_zk_crc32c(const uint8_t* data, size_t size) nogil

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char* data, Py_ssize_t size, int flags)


cdef inline uint32_t crc_of(const uint8_t* data, Py_ssize_t size, object crc32c) except? 0:
    """`crc32c`: the function for what is too long to be done here."""
    if size <= 1024 and KAFKA_ZK_CRC_HERE():
        return kafka_zk_crc32c(data, size)
    return crc32c(PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ))
