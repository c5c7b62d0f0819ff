"""kafka-configs.sh."""
