"""kafka-console-consumer.sh."""
