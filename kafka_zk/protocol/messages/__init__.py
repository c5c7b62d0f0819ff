"""The declarations: one module an API (request and response), coordinator records, embedded payloads."""
