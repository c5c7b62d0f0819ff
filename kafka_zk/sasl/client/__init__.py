"""The client's half of each SASL mechanism."""
