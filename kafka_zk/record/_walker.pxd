# cython: language_level=3
"""What `_walker.pyx` offers to the other compiled modules: Python objects of the fields that `_fields.pxd` finds."""

from libc.stdint cimport int32_t, uint8_t

from kafka_zk.record._fields cimport Fields, Problem

cdef object error_for(Problem problem, Fields* fields)
"""The exception to raise for a Problem other than NO_PROBLEM."""

cdef int check_bounds(Py_buffer* view, Py_ssize_t position, Py_ssize_t end) except -1
"""Raises ValueError unless both lie in the buffer, in this order."""

cdef object named(type named_tuple, tuple fields)
"""A NamedTuple without the checks of tuple.__new__, which take most of its time."""

cdef object bytes_at(const uint8_t* data, Py_ssize_t start, int32_t size)
"""A copy; None for a size below 0."""

cdef tuple headers_at(const uint8_t* data, Py_ssize_t position, Py_ssize_t end)
"""The headers whose count stands at `position`, as (str, bytes | None). Raises InvalidRecord."""
