"""Producer ids. The transaction coordinator will live here."""
