"""The coordinators: consumer groups, and transactions."""
