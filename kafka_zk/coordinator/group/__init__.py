"""The group coordinator: members and generations, committed offsets, and the log that stores both."""
