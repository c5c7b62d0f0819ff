"""The network layer of every client: sockets, versions, requests in flight, metadata."""
