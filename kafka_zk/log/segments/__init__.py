"""The segments of a log: files and indexes, order, rolling, retention, reading."""
