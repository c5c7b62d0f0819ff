"""The group coordinator: members and their generations, committed offsets, and the log that keeps both."""
