"""Records as columns instead of objects, for readers of millions of them."""
