"""The consumer: records of topics, alone or in a group."""
