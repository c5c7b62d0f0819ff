"""kafka-log-doctor.sh: looks into stopped data directories, says what is wrong and what a start would do about it."""
