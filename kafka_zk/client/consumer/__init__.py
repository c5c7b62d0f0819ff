"""The consumer: reads records of topics, alone or in a group."""
