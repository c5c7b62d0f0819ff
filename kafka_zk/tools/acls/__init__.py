"""kafka-acls.sh."""
