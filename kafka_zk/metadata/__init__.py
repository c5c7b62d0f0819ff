"""The broker's cached picture of the cluster, and its way to the controller."""
