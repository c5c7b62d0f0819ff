"""SASL mechanisms and JAAS: what the broker, its channels and clients share."""
