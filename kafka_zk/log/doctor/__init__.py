"""The offline doctor: what is wrong with a stopped data directory, and what a start would do about it. No gevent."""
