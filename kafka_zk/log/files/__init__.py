"""The file formats of a Kafka log directory: one plain, synchronous module each, no gevent.

Used by the broker's log and by offline tools alike.
"""
