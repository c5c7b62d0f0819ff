"""Compiles the codecs that the first clients will need, ahead of time.

Role        Acts in idle time, in a greenlet of its own. Other codecs are compiled on first use.
"""

from __future__ import annotations

import gevent

from kafka_zk.api.registry import REGISTRY

WARM_KEYS = (18, 3, 0, 1, 2, 10, 11, 14, 12, 8, 9)
"""ApiVersions, Metadata, Produce, Fetch, ListOffsets and a group consumer's requests: most clients start so."""


def warm_up() -> None:
    """Blocks. One codec at a time, while no request is waiting."""
    for key in WARM_KEYS:
        served = REGISTRY.get(key)
        if served is not None:
            version = served.request.max_version
            gevent.idle()
            served.request.decoder(version)
            served.response.encoder(version)
