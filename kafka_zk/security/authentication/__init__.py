"""Authentication of clients on SASL listeners: their states, mechanisms and sessions."""
