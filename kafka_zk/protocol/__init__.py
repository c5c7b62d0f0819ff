"""Kafka's wire protocol: message declarations, the compiler of their codecs, error codes, headers."""
