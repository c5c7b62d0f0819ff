"""The ZooKeeper-mode controller: election, state machines, topic deletion, reassignment, channels to the brokers."""
