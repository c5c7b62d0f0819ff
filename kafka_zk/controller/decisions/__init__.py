"""The controller's context and decisions, without side effects."""
