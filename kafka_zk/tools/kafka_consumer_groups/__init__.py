"""The parts of kafka-consumer-groups.sh."""
