"""kafka-verifiable-consumer.sh."""
