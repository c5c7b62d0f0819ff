"""Serving: requests of clients and followers on led partitions, and those that wait."""
