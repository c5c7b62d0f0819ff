"""kafka-consumer-perf-test.sh."""
