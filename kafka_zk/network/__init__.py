"""Listeners, connections and client channels: bytes in, frames to a handler, answers out in request order."""
