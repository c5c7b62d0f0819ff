"""Whether a token with an unknown key id is worth an early look at its issuer's keys.

Role        Pure; times are given. Any client can make up key ids: the issuer must not hear of each.
Source      RefreshingHttpsJwks.maybeExpediteRefresh in Kafka 3.9.
"""

from __future__ import annotations

from collections import OrderedDict

REMEMBERED = 16
LOOK_AGAIN_MS = 60_000
LONGEST_KEY_ID = 1000


class MissingKeys:
    """The key ids that were looked for lately."""

    def __init__(self) -> None:
        self._next_look_ms: OrderedDict[str, int] = OrderedDict()

    def is_worth_a_look(self, key_id: str, now_ms: int) -> bool:
        """Once a minute for each id, monotonic. Never for one that is too long to be remembered."""
        if len(key_id) > LONGEST_KEY_ID:
            return False
        next_look_ms = self._next_look_ms.get(key_id)
        if next_look_ms is not None:
            self._next_look_ms.move_to_end(key_id)
            if now_ms < next_look_ms:
                return False
        self._next_look_ms[key_id] = now_ms + LOOK_AGAIN_MS
        self._next_look_ms.move_to_end(key_id)
        while len(self._next_look_ms) > REMEMBERED:
            self._next_look_ms.popitem(last=False)
        return True

    def forget(self, key_ids: frozenset[str]) -> None:
        """These are known now."""
        for key_id in key_ids & self._next_look_ms.keys():
            del self._next_look_ms[key_id]
