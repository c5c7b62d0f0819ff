"""zookeeper-security-migration.sh."""
