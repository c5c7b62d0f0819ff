"""Lists and describes transactions, finds those that hang, and aborts them."""
