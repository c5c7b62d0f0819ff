"""kafka-verifiable-producer.sh."""
