"""The transactional producer: what it may do, what it asks coordinators, and what their answers mean."""
