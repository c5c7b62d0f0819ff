"""Records in and out: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""
