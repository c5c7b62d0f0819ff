"""The active controller's event handlers: one module per subject, functions over the `ActiveController`."""
