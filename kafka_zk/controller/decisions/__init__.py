"""What the controller decides, without acting: the cluster as it knows it, and what follows from that."""
