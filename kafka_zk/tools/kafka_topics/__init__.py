"""The parts of kafka-topics.sh: its options, and its two modes."""
