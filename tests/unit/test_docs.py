"""The pages are well-formed: tables, links, ids and tests in docs/compat.md, the picture of the packages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import picture_of_packages
from tests.support.named_tests import named_tests, not_there

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "bench/*.md", "tests/*.md", "tests/crash/*.md", "tests/simulation/*.md")
    for path in ROOT.glob(pattern)
) + sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "kafka_zk").rglob("README.md"))
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_CELL_END = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([a-z0-9-]+)"></a>')
_COMPAT = "docs/compat.md"


def text_of(page: str) -> str:
    """Without its blocks of code."""
    return _FENCE.sub("", (ROOT / page).read_text())


def tables_in(text: str) -> list[list[str]]:
    """The lines of each table: the header, the line of dashes, the rows."""
    lines = text.splitlines()
    tables = []
    for index, line in enumerate(lines):
        if _RULE.fullmatch(line.strip()):
            end = next((at for at in range(index, len(lines)) if not lines[at].startswith("|")), len(lines))
            tables.append(lines[index - 1 : end])
    return tables


def column_count(row: str) -> int:
    return len(_CELL_END.findall(row)) - 1


def anchors_in(page: str) -> set[str]:
    """What a link may name in `page`: its ids, and its headings in the form that GitHub gives them."""
    text = text_of(page)
    titles = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in _HEADING.findall(text)]
    return {*titles, *_ANCHOR.findall(text)}


def broken_links_of(page: str) -> list[str]:
    broken = []
    for link in _LINK.findall(text_of(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors_in(target.resolve().relative_to(ROOT).as_posix())):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES)
def test_each_row_of_a_table_has_the_columns_of_its_header(page: str) -> None:
    text = text_of(page)
    tables = tables_in(text)
    assert [row for table in tables for row in table if column_count(row) != column_count(table[0])] == []
    in_tables = sum(len(table) for table in tables)
    assert in_tables == len(re.findall(r"^\|", text, re.MULTILINE)), "a line of a table stands outside of one"


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_to_something_that_exists(page: str) -> None:
    assert broken_links_of(page) == []


def test_a_broken_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("# A title: of it\n[good](#a-title-of-it) [bad](#nowhere) [gone](gone.md)")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert broken_links_of("page.md") == ["#nowhere", "gone.md"]


def test_each_difference_has_an_id_of_its_own() -> None:
    rows = [row for table in tables_in(text_of(_COMPAT)) if table[0].endswith("| tests |") for row in table[2:]]
    ids = [_ANCHOR.findall(row) for row in rows]
    assert [row for row, found in zip(rows, ids, strict=True) if len(found) != 1 or not _ANCHOR.match(row[2:])] == []
    assert len({found[0] for found in ids}) == len(ids) == len(_ANCHOR.findall(text_of(_COMPAT))) > 200


def test_each_test_that_a_difference_names_exists() -> None:
    named = named_tests(text_of(_COMPAT))
    assert len(named) > 100
    assert not_there(named) == []


def test_each_file_that_the_journeys_name_exists() -> None:
    named = re.findall(r"`(\w[\w/]*/\w+\.pyx?)`", (ROOT / picture_of_packages.PAGE).read_text())
    assert len(named) > 50
    assert [file for file in named if not (ROOT / "kafka_zk" / file).exists()] == []


def test_the_picture_of_the_packages_is_that_of_the_layers() -> None:
    page = (ROOT / picture_of_packages.PAGE).read_text()
    assert picture_of_packages.with_picture(page) == page, "run python -m tests.support.picture_of_packages"
