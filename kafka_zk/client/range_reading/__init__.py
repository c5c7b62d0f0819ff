"""Reading ranges of offsets that were planned beforehand: no group, no subscription, no reset."""
