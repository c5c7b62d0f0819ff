"""APIs about the cluster and the broker itself."""
