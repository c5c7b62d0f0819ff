"""Records gathered into batches, and batches sent until their fate is known."""
