"""Administration over the wire: one method a call, synchronous."""
