"""Measurements beside Apache Kafka 3.9.1 (`python -m bench`) and of single packages. See README.md."""
