"""The parts of zookeeper-shell.sh: its commands, what they do, and its connection."""
