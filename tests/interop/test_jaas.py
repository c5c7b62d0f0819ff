"""JAAS texts mean the same here and in the JVM: Kafka's parser of sasl.jaas.config, and the JDK's of files."""

from __future__ import annotations

import base64
from pathlib import Path
from random import Random

from kafka_zk.sasl.jaas import JaasError, LoginModule, parse_file, parse_value
from tests.support.apache import run_tool

PROGRAM = Path(__file__).parent / "java" / "Jaas.java"
PIECES = (
    "com.example.PlainLoginModule", "required", "REQUISITE", "sufficient", "optional", "Flag", " ", " ", "\n", "\t",
    "\r\n", "user_alice", "=", "=", '"', "'", ";", ";", "\\", '\\"', "\\n", "\\101", "\\377", "\\47", "\\8", "/", "//",
    "/*", "*/", "1", "-1", "-", ".5", "1e5", "a1", "_x", "$y", "*", "{", "}", ",", "#", "\u00e9", "\u4f60", "\u0080",
    "\x7f", "password", 'password="secret"', "key='single'", "a=b", "KafkaServer {", "};", "KafkaClient",
)  # fmt: skip
NO_MODULE = f"error {base64.b64encode(b'null').decode()}"
"""Java says no more than "null" of a module that has no name; ours says what is missing."""

GOOD = 'com.example.PlainLoginModule required user_alice="a b" k=v;'


def texts(seed: int, count: int) -> list[str]:
    """Made of pieces at random, and good ones with a piece put in somewhere."""
    random = Random(seed)
    made = [
        "",
        GOOD,
        GOOD * 2,
        GOOD[:-1],
        "a",
        "a required",
        "a b;",
        "a required k=1;",
        "a required k;",
        "a required =;",
    ]
    while len(made) < count:
        if random.random() < 0.5:
            made.append("".join(random.choice(PIECES) for _ in range(random.randrange(1, 12))))
        else:
            at = random.randrange(len(GOOD) + 1)
            made.append(GOOD[:at] + random.choice(PIECES) + GOOD[at:])
    return made


def shown(modules: list[LoginModule]) -> str:
    def one(module: LoginModule) -> str:
        options = [f"{encoded(key)}:{encoded(value)}" for key, value in sorted(module.options.items())]
        return ",".join([encoded(module.name), module.flag, *options])

    return " ".join(["modules", *map(one, modules)])


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def of_the_jvm(lines: list[str]) -> list[str]:
    ran = run_tool(str(PROGRAM), stdin="".join(f"{line}\n" for line in lines))
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_value_means_what_it_means_to_kafka(seed: int) -> None:
    """(security 12.27)"""
    made = texts(seed, 4_000)
    theirs = of_the_jvm([f"value {encoded(text)}" for text in made])
    for text, their in zip(made, theirs, strict=True):
        try:
            ours = shown(parse_value(text))
        except JaasError as error:
            ours = f"error {encoded(str(error))}"
        if their == NO_MODULE:
            assert ours.startswith("error"), text
            continue
        assert ours == their, (text, base64.b64decode(their.split()[-1].split(",")[0]))


def test_a_file_means_what_it_means_to_the_jdk(seed: int) -> None:
    """(security 12.27) Errors need not have the same words: the JDK's name a line of their own count."""
    made = [f"KafkaServer {{ {text} }};" for text in texts(seed, 1_500)] + texts(seed + 1, 500)
    theirs = of_the_jvm([f"file KafkaServer {encoded(text)}" for text in made])
    for text, their in zip(made, theirs, strict=True):
        try:
            sections = parse_file(text)
            ours = shown(sections["KafkaServer"]) if "KafkaServer" in sections else "none"
        except JaasError:
            ours = "error"
        assert ours == (their if not their.startswith("error") else "error"), (text, their)
