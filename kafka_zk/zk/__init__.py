"""The cluster's ZooKeeper: session, znodes, watches, and operations that several packages share."""
