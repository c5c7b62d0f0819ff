"""The segments of a log: files and indexes, their order, when one begins, when it goes, how they are read."""
