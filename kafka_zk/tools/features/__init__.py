"""kafka-features.sh."""
