"""Leading: the ISR, the high watermark, and AlterPartition requests."""
