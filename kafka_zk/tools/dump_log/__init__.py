"""kafka-dump-log.sh: what the files of a log directory say, in Apache's words."""
