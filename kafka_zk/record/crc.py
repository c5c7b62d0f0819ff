"""CRC-32C, as in Kafka's batches and snapshots.

Role        Imports the extension module of the package crc32c without the package itself, which looks up its own
            version on import: the modules that this needs (importlib.metadata, email, zipfile) would take a twentieth
            of a broker's start, and of each helper process's.
Source      RFC 3720, appendix B.4.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c as crc32c


def _extension() -> ModuleType:
    """Raises ImportError."""
    package = find_spec("crc32c")
    found = package and PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if not found or not found.loader:
        raise ImportError("The package crc32c is not installed, or has no extension module", name="crc32c")
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


if not TYPE_CHECKING:
    crc32c = _extension().crc32c
