"""kafka-dump-log.sh: prints the files of a log directory, in Apache's words."""
