"""Requests in, responses out: one module per API key, and the dispatcher that serves them all."""
