"""How a log is opened, made new, or made whole again after a crash."""
