"""The picture of the packages in docs/architecture.md, made from the layers in setup.cfg and the packages' docstrings.

`python -m tests.support.picture_of_packages` updates it. tests/unit/test_docs.py finds a picture that is out of date.
"""

from __future__ import annotations

import ast
import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/architecture.md"
_BEGIN = "<!-- packages: made by python -m tests.support.picture_of_packages -->\n"
_END = "<!-- end of packages -->\n"


def layers() -> list[list[str]]:
    """The packages of each layer, top to bottom, without `kafka_zk.`."""
    contracts = ConfigParser()
    contracts.read(ROOT / "setup.cfg")
    lines = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return [[name.strip().removeprefix("kafka_zk.") for name in line.split("|")] for line in lines if line]


def purpose_of(name: str) -> str:
    """The first line of the package's docstring."""
    package = ROOT / "kafka_zk" / name
    source = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text()))
    assert docstring, f"{source} has no docstring"
    return docstring.splitlines()[0]


def picture() -> str:
    """A line per package; a bar between two layers, of which the upper one imports the lower."""
    width = max(len(name) for layer in layers() for name in layer)
    drawn = ["\n".join(f"{name:{width}}  {purpose_of(name)}" for name in layer) for layer in layers()]
    return "```\n" + "\n  |\n".join(drawn) + "\n```\n"


def with_picture(page: str) -> str:
    """`page` with the current picture between its two marks."""
    between = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    assert len(between.findall(page)) == 1, f"{PAGE} must have the two marks of the picture once"
    return between.sub(lambda _: _BEGIN + picture() + _END, page)


if __name__ == "__main__":
    (ROOT / PAGE).write_text(with_picture((ROOT / PAGE).read_text()))
