"""The one compiled module, built where a compiler is found; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

SOURCE = "kafka_zk/record/_walker.pyx"

if Path(SOURCE).exists():
    from Cython.Build import cythonize

    extensions = cythonize(
        [Extension("kafka_zk.record._walker", [SOURCE], optional=True, extra_compile_args=["-O3"])],
        compiler_directives={"language_level": "3"},
    )
else:
    extensions = []

setup(ext_modules=extensions)
