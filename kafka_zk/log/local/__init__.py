"""The files of one log: segments, their writing, rolling, cutting, removing and syncing."""
