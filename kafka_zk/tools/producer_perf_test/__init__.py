"""kafka-producer-perf-test.sh."""
