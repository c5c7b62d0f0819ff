"""One entry of log.dirs: its lock, identity and checkpoints, and what its logs share."""
