"""kafka-delegation-tokens.sh."""
