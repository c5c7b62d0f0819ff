"""Topic creation and assignment, configuration changes and their notifications."""
