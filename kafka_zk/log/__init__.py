"""The log: what is on disk, how it grows, how it is read, recovered and removed."""
