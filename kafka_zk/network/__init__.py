"""Listeners, connections and client channels: bytes in, frames to a handler, responses out in request order."""
