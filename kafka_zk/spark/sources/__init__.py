"""Data sources for PySpark: topics of a cluster, and segment files."""
