"""kafka-get-offsets.sh."""
