"""sasl.kerberos.principal.to.local.rules mean the same here and in the JVM."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from random import Random

from kafka_zk.sasl.kerberos.names import KerberosName, MalformedName
from kafka_zk.sasl.kerberos.short_names import BadRule, NoMatchingRule, ShortNamer
from tests.support.apache import run_tool

PROGRAM = Path(__file__).parents[1] / "java" / "ShortNames.java"
REALM = "EXAMPLE.COM"
COUNT = 5000
NAMES = (
    "alice@EXAMPLE.COM", "alice@OTHER.ORG", "kafka/b1.example.com@EXAMPLE.COM", "kafka/b1@OTHER.ORG", "alice",
    "App-1@EXAMPLE.COM", "x.y/z.w@EXAMPLE.COM", "a/b/c@EXAMPLE.COM", "@EXAMPLE.COM", "/h@R", "a@", "a@b@c", "a/b", "",
    "\u00c4rger/\u0130@EXAMPLE.COM", "nn/nn@EXAMPLE.COM", "a$1@EXAMPLE.COM", "a\\b@EXAMPLE.COM", "a1b22@EXAMPLE.COM",
)  # fmt: skip
RULES = (
    "DEFAULT", "DEFAULT/L", "RULE:[1:$1]", "RULE:[1:$1@$0](.*@EXAMPLE.COM)s/@.*//", "RULE:[2:$1]", "RULE:[2:$1](kafka)",
    "RULE:[1:$1@$0](alice@OTHER.ORG)s/@.*//", "RULE:[2:$1@$0](.*@.*EXAMPLE.COM)s/(.*)@.*/$1/L", "RULE:[1:$1]/L",
    "RULE:[1:$1]/U", "RULE:[1:$1]U", "RULE:[1:$0$1](.*COM(.*))s/.*COM(.*)/x$1/", "RULE:[1:$1](.*)s/a/b/g",
    "RULE:[1:$1](.*)s/a/b/", "RULE:[2:$1;$2](^.*;.*$)s/;.*$//", "RULE:[2:$1.$2]", "RULE:[1:$1@$0]", "RULE:[1:$3]",
    "RULE:[2:$2]s/\\..*//", "RULE:[1:$1]s/([a-z])([0-9]+)/$2$1/g", "RULE:[1:$1]s/x/$9/", "RULE:[1:$1]s/a/$/",
    "RULE:[1:$1]s/a/\\$/", "RULE:[1:$1]s/(?<n>[a-z]+)/${n}${n}/", "RULE:[1:$1]s/(a)|(b)/[$1$2]/g",
    "RULE:[1:$1]s/a/$12/",    "RULE:[1:$1]s/(a)/$12/",
)  # fmt: skip
PIECES = (
    "RULE:", "[1:", "[2:", "[:", "[03:", "$1", "$0", "$2", "$", "$9", "]", "(", ")", "(.*)", "s/", "/", "//", "g", "L",
    "U",    "a", "@", ".", "*", "DEFAULT", " ", "\\", "x", "[0-9]+", "(a)", "$99999999999", "\\d", "^", "|",
)  # fmt: skip
NO_PATTERN = re.compile("Invalid rule: `.*`: ", re.DOTALL)
"""Python says what is wrong with a regular expression in words of its own, and refuses some that Java reads."""


def cases(seed: int) -> list[tuple[str, str]]:
    """Rules and names: good ones, and ones with a piece put in, taken out, or made of pieces."""
    random = Random(seed)
    made = [(rule, name) for rule in RULES for name in NAMES]
    while len(made) < COUNT:
        rule = random.choice(RULES)
        kind = random.random()
        at = random.randrange(len(rule) + 1)
        if kind < 0.3:
            rule = rule[:at] + random.choice(PIECES) + rule[at:]
        elif kind < 0.5:
            rule = rule[:at] + rule[at + 1 :]
        elif kind < 0.7:
            rule = "".join(random.choice(PIECES) for _ in range(random.randrange(1, 8)))
        else:
            rule = ",".join([rule, random.choice(RULES), "DEFAULT"])
        made.append((rule, random.choice(NAMES)))
    return made


def ours(rules: str, name: str) -> str:
    try:
        return "name " + encoded(ShortNamer(REALM, rules.split(",")).short_name(KerberosName.parse(name)))
    except (BadRule, MalformedName, NoMatchingRule) as error:
        return "error " + encoded(str(error))


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def plain(line: str) -> str:
    """For a reader."""
    kind, _, text = line.partition(" ")
    return f"{kind} {base64.b64decode(text).decode()}"


def test_rules_give_the_jvms_names_and_errors(seed: int) -> None:
    asked = cases(seed)
    lines = "".join(f"{encoded(REALM)} {encoded(rules)} {encoded(name)}\n" for rules, name in asked)
    ran = run_tool(str(PROGRAM), stdin=lines)
    theirs = [plain(line) for line in ran.stdout.splitlines()]
    assert len(theirs) == len(asked), ran.stderr
    differing, refused = [], 0
    for (rules, name), answer in zip(asked, theirs, strict=True):
        mine = plain(ours(rules, name))
        if NO_PATTERN.search(mine):
            refused += 1
        elif mine != answer:
            differing.append((rules, name, answer, mine))
    assert refused < COUNT / 20
    assert not differing, f"{len(differing)}: " + "\n".join(map(str, differing[:20]))
