"""This broker as a member of the cluster: registration, session and controlled shutdown."""
