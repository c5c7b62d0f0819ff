"""Which brokers restarted while no controller looked.

Role        Pure. Asked once, at a failover.
Invariants  A broker is named only if some partition can do without it: another live member of that partition's ISR was
            registered all the time since the ISR was written.
Source      Ours. Differs from Kafka, whose new controller takes a registered member of an ISR for the one that was put
            there. It may have lost what was not on its disk when its machine failed, together with the last controller:
            leading, it would have the others cut what was committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.controller.decisions.context import Broker, Leadership


def restarted_unseen(brokers: Mapping[int, Broker], written: Iterable[tuple[Leadership, int]]) -> list[int]:
    """The ids, rising, of those of `brokers` that registered after an ISR that names them was written.

    `written`: each partition's state with the zxid of its znode's last change. O(members of all ISRs).
    """
    found: set[int] = set()
    for state, zxid in written:
        live = [member for member in state.isr if member in brokers]
        restarted = [member for member in live if brokers[member].epoch > zxid]
        if restarted and len(restarted) < len(live):
            found.update(restarted)
    return sorted(found)
