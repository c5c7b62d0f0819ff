"""The APIs of security: ACLs, and what is left of SASL after a login."""
