"""Which URLs of OAuth servers may be opened.

Role        Pure.
Source      ConfigurationUtils.validateUrl; org.apache.kafka.sasl.oauthbearer.allowed.urls (CVE-2025-27817).
"""

from __future__ import annotations

import urllib.parse
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
        raise ConfigException(
            f"{url} is not allowed. Update System property 'org.apache.kafka.sasl.oauthbearer.allowed.urls' to allow "
            f"{url}"
        )
