"""kafka-leader-election.sh."""
