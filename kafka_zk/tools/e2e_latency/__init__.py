"""kafka-e2e-latency.sh."""
