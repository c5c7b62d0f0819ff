"""Requests in, responses out: one module an API key, and the dispatcher that they all go through."""
