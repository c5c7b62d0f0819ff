"""Secrets are compared in constant time (CVE-2021-38153): no == on what only one side should know."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import kafka_zk

ROOT = Path(kafka_zk.__file__).parent
PACKAGES = ("sasl", "security", "api/security", "api/before_login.py")
SECRET = re.compile(r"password|proof|signature|stored_key|server_key|client_key|salted|hmac|secret|\bmac\b", re.I)
NO_SECRET = re.compile(r"^(len\(|.*(_name|_count|_ms)$)|mechanism")


def sources() -> list[Path]:
    found: list[Path] = []
    for package in PACKAGES:
        path = ROOT / package
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def compared(tree: ast.Module) -> list[str]:
    """The operands of == and != in a module, as they are written."""
    return [
        ast.unparse(operand)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(isinstance(each, ast.Eq | ast.NotEq) for each in node.ops)
        for operand in (node.left, *node.comparators)
        if not isinstance(operand, ast.Constant | ast.Set)
    ]


def test_no_secret_is_compared_with_an_equals_sign() -> None:
    for path in sources():
        for operand in compared(ast.parse(path.read_text())):
            assert not SECRET.search(operand) or NO_SECRET.search(operand), f"{path}: {operand}"


def test_the_rule_finds_what_it_forbids() -> None:
    assert [each for each in compared(ast.parse("a = password == b")) if SECRET.search(each)] == ["password"]
