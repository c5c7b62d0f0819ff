"""TLS settings, stores and contexts: what listeners, channels, clients and ZooKeeper share."""
