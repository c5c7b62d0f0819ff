"""kafka-cluster-restart.sh."""
