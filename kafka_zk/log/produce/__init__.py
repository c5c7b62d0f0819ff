"""What is checked before a produced batch is appended, and what its producer is told."""
