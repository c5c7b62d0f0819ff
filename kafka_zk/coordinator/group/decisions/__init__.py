"""The state and decisions of a group, and its records: pure, one module per subject."""
