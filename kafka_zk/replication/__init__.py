"""The replicas on this broker: leading, following, and requests that wait for them."""
