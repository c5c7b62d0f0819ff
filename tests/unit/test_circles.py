"""No module imports itself by way of others, imports for types included: each can be read, and changed, by itself."""

from __future__ import annotations

import grimp


def test_no_imports_go_in_a_circle() -> None:
    graph = grimp.build_graph("kafka_zk", cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # Whoever imports nobody that is left is in no circle.
    while done := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in done}
    # What is left is imported by a circle, or imports one: those that nobody imports are none of it.
    while unasked := left.keys() - set().union(*left.values()):
        left = {module: imported for module, imported in left.items() if module not in unasked}
    assert not left, "\n".join(f"{module} -> {sorted(imported & left.keys())}" for module, imported in left.items())
