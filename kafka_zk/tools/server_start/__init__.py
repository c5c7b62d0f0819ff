"""kafka-server-start.sh."""
