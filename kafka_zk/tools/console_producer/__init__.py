"""kafka-console-producer.sh."""
