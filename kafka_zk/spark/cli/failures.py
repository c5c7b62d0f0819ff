"""Extracts the one sentence that matters from a failed Spark job's error.

Role        Pure.
Source      Spark wraps what a Python worker raised in a Java exception whose text holds the worker's traceback.
"""

from __future__ import annotations

import re

from kafka_zk.spark.jobs.outcome import AnotherRunError

_RAISED = re.compile(
    r"^(?:[A-Za-z_][\w.]*\.)?"
    r"([A-Z]\w*(?:Error|Exception|Offset\w*|Interrupt|Failed|Loss)\w*|Overtaken|LateRecords): (.+)$"
)
_SPARK_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\] ")
_JAVA_CAUSE = re.compile(r"^: (?:[\w$]+\.)+[\w$]+: (.+)$")
"""What a call into the JVM threw, on the line after the name of the call."""
_WRAPPERS = frozenset(
    (
        "PythonException",
        "SparkException",
        "StreamingQueryException",
        "SparkRuntimeException",
        "PySparkRuntimeError",
        "AnalysisException",
        "Py4JJavaError",
        "Py4JError",
    )
)


def clear_sentence(text: str) -> str:
    """The last error that a Python worker raised, or the first line of Spark's own message."""
    name, raised = _last_raised(text)
    if name in ("KeyError", "TypeError", "ValueError", "AttributeError", "NameError"):
        return f"{name}: {raised}"
    if raised:
        return raised
    for line in text.splitlines():
        if found := _JAVA_CAUSE.match(line):
            return found.group(1).strip()
    first = next((line.strip() for line in text.splitlines() if line.strip()), "it failed without an error message")
    return _SPARK_CONDITION.sub("", first)


def is_of_a_fenced_run(text: str) -> bool:
    """Whether a later run of the same job has taken over: the last error says so."""
    return _last_raised(text)[0] == AnotherRunError.__name__


def _last_raised(text: str) -> tuple[str, str]:
    """Name and message of the last error in tracebacks of Python; empty without any."""
    name, message = "", ""
    for line in text.splitlines():
        found = _RAISED.match(line.strip())
        if found and found.group(1) not in _WRAPPERS:
            name, message = found.group(1), found.group(2).strip()
    return name, message
