"""The declared keys, one module per subject; `broker.py` and the client modules combine them."""
