"""Leading: who is in sync, what is committed, and what the controller is asked to write down."""
