"""How a log shrinks: segments past retention, truncation, files on their way to deletion."""
