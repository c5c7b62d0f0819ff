"""Names that may be children of a znode: each is worth a look, until there are very many of them."""

from __future__ import annotations

from typing import Any

from kafka_zk.zk.errors import NoNode
from kafka_zk.zk.siblings import A_FEW, Siblings


class Listing:
    """A ZooKeeper that counts how often it is asked."""

    def __init__(self, names: list[str] | None) -> None:
        self.asked = 0
        self._names = names

    def children(self, path: str) -> list[str]:
        self.asked += 1
        if self._names is None:
            raise NoNode(path)
        return self._names


def siblings(listing: Listing) -> Siblings:
    zk: Any = listing
    return Siblings(zk, "/parent")


def test_a_few_names_are_all_worth_a_look() -> None:
    listing = Listing(["there"])
    names = siblings(listing)
    assert all(names.may_have(f"name-{number}") for number in range(A_FEW))
    assert listing.asked == 0


def test_of_very_many_names_only_those_that_are_there() -> None:
    listing = Listing(["there"])
    names = siblings(listing)
    found = [name for name in [f"name-{number}" for number in range(1_000)] + ["there"] if names.may_have(name)]
    assert found[A_FEW:] == ["there"]
    assert listing.asked == 1


def test_a_parent_that_is_not_there_has_none() -> None:
    listing = Listing(None)
    names = siblings(listing)
    assert sum(names.may_have(str(number)) for number in range(1_000)) == A_FEW
    assert listing.asked == 1
