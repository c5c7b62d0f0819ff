"""Commands, one module each: they parse arguments and print; the work is done in the rooms below."""
