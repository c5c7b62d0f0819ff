"""kafka-topics.sh."""
