"""What a job can be told: declared once, given by options or a TOML file."""
