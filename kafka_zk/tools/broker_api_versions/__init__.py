"""kafka-broker-api-versions.sh."""
