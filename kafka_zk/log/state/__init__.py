"""What a log knows beside its batches, in memory and on disk: leader epochs and producers."""
