"""zookeeper-server-start.sh."""
