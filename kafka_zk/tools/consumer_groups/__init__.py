"""kafka-consumer-groups.sh."""
