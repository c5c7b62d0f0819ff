"""The log: its files, and how it is appended to, read, recovered and cleaned."""
