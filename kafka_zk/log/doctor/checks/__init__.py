"""The doctor's checks, one per module. Each notes findings; none changes a file."""
