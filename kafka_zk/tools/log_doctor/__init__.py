"""kafka-log-doctor.sh: checks stopped data directories, and reports what a start would do about problems."""
