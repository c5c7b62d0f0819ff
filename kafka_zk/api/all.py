"""Imports every handler module, which registers it.

Role        The broker calls `load` once at start. Handlers live in the subpackages (data, group, admin, cluster ...);
            every module there is a handler module or supports some, so a new API needs no entry.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import kafka_zk.api
from kafka_zk.api.registry import REGISTRY, ApiRegistry


def load(pause: Callable[[], object] = lambda: None) -> ApiRegistry:
    """Import all handler modules, with a `pause` before each one; returns the registry that they filled."""
    for subpackage in iter_modules(kafka_zk.api.__path__, "kafka_zk.api."):
        if subpackage.ispkg:
            for module in iter_modules(import_module(subpackage.name).__path__, f"{subpackage.name}."):
                pause()
                import_module(module.name)
    return REGISTRY
