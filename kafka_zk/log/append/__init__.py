"""How a log grows: check, place, write, roll, sync."""
