"""What a transaction coordinator decides: pure, and tested without a broker."""
