"""Measurements beside Apache Kafka 3.9.1 (`python -m bench`) and of single rooms. See README.md."""
