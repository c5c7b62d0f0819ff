"""The parts of kafka-configs.sh: its options, and its two modes."""
