"""Records as columns: what a reader of millions of them wants in the place of one object each."""
