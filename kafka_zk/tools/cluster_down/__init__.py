"""kafka-cluster-down.sh."""
