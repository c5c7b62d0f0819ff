"""What a group is and decides, and how it is written down and read back: pure, one module a subject."""
