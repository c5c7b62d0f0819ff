"""kafka-cluster-up.sh."""
