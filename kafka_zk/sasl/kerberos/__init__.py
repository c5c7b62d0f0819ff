"""Kerberos, as the mechanism GSSAPI uses it: names, rules, tickets and security contexts."""
