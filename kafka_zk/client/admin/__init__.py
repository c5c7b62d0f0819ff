"""Administration over the wire: one synchronous method per call."""
