"""This broker as a member of the cluster: how it comes, how it stays known, how it leaves."""
