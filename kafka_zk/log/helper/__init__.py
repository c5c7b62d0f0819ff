"""Python-heavy work in a process of its own, so that the loop goes on meanwhile."""
