"""kafka-replica-verification.sh."""
