"""What an active controller does about each event: one module a subject, functions over the `Term`."""
