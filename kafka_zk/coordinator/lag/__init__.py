"""How far groups are behind: exactly, and where the records are."""
