"""CPU-heavy work in a helper process, so that the event loop is not blocked."""
