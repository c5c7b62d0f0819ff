"""kafka-log-dirs.sh."""
