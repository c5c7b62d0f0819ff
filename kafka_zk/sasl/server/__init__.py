"""The broker's half of each SASL mechanism, as a machine from token to token."""
