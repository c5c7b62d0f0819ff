"""kafka-streams-application-reset.sh."""
