"""kafka-server-stop.sh."""
