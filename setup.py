"""The two compiled modules, built where a compiler is found; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

SOURCES = ("kafka_zk/protocol/_codec.pyx", "kafka_zk/record/_walker.pyx")

extensions = []
if all(Path(source).exists() for source in SOURCES):
    from Cython.Build import cythonize

    extensions = cythonize(
        [
            Extension(
                source.removesuffix(".pyx").replace("/", "."), [source], optional=True, extra_compile_args=["-O3"]
            )
            for source in SOURCES
        ],
        compiler_directives={"language_level": "3"},
    )

setup(ext_modules=extensions)
