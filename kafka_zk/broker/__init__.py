"""One broker: builds its parts, and starts and stops them in order."""
