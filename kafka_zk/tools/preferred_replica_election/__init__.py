"""kafka-preferred-replica-election.sh."""
