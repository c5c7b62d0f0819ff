"""A directory in the place of a file: every file in it that can be dumped.

Role        Reads directories. Beyond Apache Kafka, whose tool takes files only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafka_zk.log.files import names
from kafka_zk.tools.dump_log.java_file import JavaFile, java_error


def files_of(directory: JavaFile) -> Iterator[JavaFile]:
    """Of a partition, or of all partitions of one of log.dirs; by name. Files in transition are left out.

    Raises JavaError where a directory cannot be read.
    """
    try:
        with os.scandir(directory.path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise java_error(error, directory) from error
    for entry in entries:
        file = JavaFile(entry.path)
        if entry.is_dir():
            if names.parse_partition_dir(entry.name) is not None:
                yield from files_of(file)
            continue
        offset_file = names.parse_offset_file(entry.name)
        if offset_file is not None and not offset_file.state:
            yield file
