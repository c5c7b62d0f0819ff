"""Clients of a cluster, on plain sockets: what the command-line tools and the pipeline talk through."""
