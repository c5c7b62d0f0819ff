"""The APIs of producer ids and of transactions, one module per API key."""
