"""The replicas on this broker: leading, following, and the requests that wait for them."""
