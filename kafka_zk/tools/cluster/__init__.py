"""kafka-cluster.sh."""
