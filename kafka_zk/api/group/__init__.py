"""The APIs of consumer groups: who coordinates, membership, offsets, administration."""
