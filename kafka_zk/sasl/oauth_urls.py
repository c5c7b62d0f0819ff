"""Which URLs of OAuth servers may be opened, and the files that some name.

Role        Pure, but for `file_of`, which looks at the file.
Source      ConfigurationUtils.validateUrl, validateFile;
            org.apache.kafka.sasl.oauthbearer.allowed.urls (CVE-2025-27817).
"""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path
from typing import Final

from kafka_zk.config.errors import ConfigException

ALLOWED_URLS: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""The system property that names all URLs which may be opened, separated by commas."""


def check_url(url: str, key: str, allowed_urls: str | None = None) -> None:
    """Raise ConfigException for a URL that must not be fetched. `allowed_urls`: comma-separated, None for all."""
    try:
        protocol = urllib.parse.urlsplit(url).scheme.lower()
    except ValueError:
        protocol = ""
    if not protocol:
        raise ConfigException(
            f"The OAuth configuration option {key} contains a URL ({url}) that is malformed: no protocol"
        )
    if protocol not in ("http", "https", "file"):
        raise ConfigException(
            f"The OAuth configuration option {key} contains a URL ({url}) that contains an invalid protocol "
            f'({protocol}); only "http", "https", and "file" protocol are supported'
        )
    if allowed_urls is not None and url not in [each.strip() for each in allowed_urls.split(",")]:
        raise ConfigException(f"{url} is not allowed. Update system property '{ALLOWED_URLS}' to allow {url}")


def is_file(url: str) -> bool:
    """Whether a URL that `check_url` accepts names a file."""
    return urllib.parse.urlsplit(url).scheme.lower() == "file"


def file_of(url: str, key: str) -> Path:
    """The readable file that a URL names. Blocks on the disk. Raises ConfigException, with Kafka's texts."""
    path = Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path)).absolute()
    option = f"The OAuth configuration option {key}"
    if not path.exists():
        raise ConfigException(f"{option} contains a file ({path}) that doesn't exist")
    if not os.access(path, os.R_OK):
        raise ConfigException(f"{option} contains a file ({path}) that doesn't have read permission")
    if path.is_dir():
        raise ConfigException(f"{option} references a directory ({path}), not a file")
    return path
