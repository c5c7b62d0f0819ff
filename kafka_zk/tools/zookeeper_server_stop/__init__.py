"""zookeeper-server-stop.sh."""
