"""Programs that carry records from one topic to another, each record once: consume, transform, produce and commit the
offsets in one transaction.

Each is one member of a group with one transactional id, until SIGTERM: `python -m tests.interop.chains.<client>
bootstrap source sink group id gate`. It keeps each record in its partition, makes `copy of ` its beginning, and aborts
every seventh transaction on purpose. It ends with FENCED when another has its transactional id or its place in the
group for good; the one who started it starts it again.

While the file `gate` is there, it does not end its transaction: all of it is answered but the end. It makes the file
`<gate>-<id>`, and waits until the gate is gone.
"""
