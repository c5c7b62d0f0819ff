"""The APIs of security: ACLs."""
