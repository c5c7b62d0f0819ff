"""The producer: collects records into batches and sends them."""
