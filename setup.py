"""What is compiled, where a compiler is found; everything else is in pyproject.toml.

Modules of Cython's that have a pure twin, and by mypyc the ordinary modules of the hot path, which say so below their
docstring. What runs is the same without, only slower. Each is optional: an
install without a compiler has all of it in Python. KAFKA_ZK_INTERPRETED=1 leaves the hot path in Python.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

TWINS = (
    "kafka_zk/client/consumer/_record_decoding.pyx",
    "kafka_zk/protocol/_codec.pyx",
    "kafka_zk/record/_appender.pyx",
    "kafka_zk/record/_filter.pyx",
    "kafka_zk/record/_runs.pyx",
    "kafka_zk/record/_walker.pyx",
    "kafka_zk/record/columns/_builder.pyx",
)
MARK = "\n# Compiled by mypyc: "
HOT_PATH = sorted(str(path) for path in Path("kafka_zk").rglob("*.py") if MARK in path.read_text())
# What is installed beside us says nothing, or what comes out would depend on what was installed before.
MYPY_OPTIONS = ("--config-file=", "--python-version=3.11", "--ignore-missing-imports", "--no-site-packages")


def twins() -> list[Extension]:
    from Cython.Build import cythonize

    return cythonize(
        [
            Extension(source.removesuffix(".pyx").replace("/", "."), [source], extra_compile_args=["-O3"])
            for source in TWINS
        ],
        compiler_directives={"language_level": "3"},
    )


def hot_path() -> list[Extension]:
    if os.environ.get("KAFKA_ZK_INTERPRETED") == "1":
        return []
    from mypyc.build import mypycify

    try:
        return mypycify([*MYPY_OPTIONS, *HOT_PATH], opt_level="2", debug_level="0", group_name="kafka_zk.hot_path")
    except SystemExit:
        print("setup.py: mypyc refused the hot path, it stays in Python", file=sys.stderr)
        return []


building = not {"egg_info", "dist_info", "sdist", "clean"} & set(sys.argv)
# The largest first: the others are compiled beside it.
extensions = [*hot_path(), *twins()] if building and all(Path(source).exists() for source in TWINS) else []
for extension in extensions:
    extension.optional = True
setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count()}})

# A build leaves alone what would come out the same; kafka_zk.compiled tells by the times what is up to date.
for source in map(Path, HOT_PATH if extensions else ()):
    for binary in source.parent.glob(f"{source.stem}.*.so"):
        binary.touch()
