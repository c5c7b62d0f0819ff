"""The settings of jobs: declared once, given by options or a TOML file."""
