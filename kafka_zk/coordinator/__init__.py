"""The coordinators: consumer groups, and producer ids."""
