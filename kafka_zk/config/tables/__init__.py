"""The declared keys, one module a subject; `broker.py` and the client modules put them together."""
