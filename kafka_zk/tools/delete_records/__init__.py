"""kafka-delete-records.sh."""
