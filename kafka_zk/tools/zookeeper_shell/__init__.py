"""zookeeper-shell.sh."""
