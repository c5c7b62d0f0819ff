"""What every client of a cluster stands on: sockets, versions, requests in flight, metadata."""
