"""How a log is opened, created, or recovered after a crash."""
