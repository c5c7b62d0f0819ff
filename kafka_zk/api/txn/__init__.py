"""Producer ids and transactions: InitProducerId."""
