"""Writing records under sequences that were noted beforehand, and finding out which of them arrived."""
