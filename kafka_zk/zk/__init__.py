"""The cluster's ZooKeeper: session, znodes, watches, and the operations that several rooms share."""
