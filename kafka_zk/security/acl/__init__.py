"""Who may do what: the rules in ZooKeeper, their cache, and the decision."""
