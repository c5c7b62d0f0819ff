"""The broker's metadata cache, and its channel to the controller."""
