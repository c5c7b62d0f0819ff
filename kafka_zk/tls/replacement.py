"""Whether new stores may take the place of those that a listener has had.

Role        Pure.
Invariants  A listener stays the one that clients know: same names, no host fewer. A key or trust store neither comes
            nor, for the key store, goes.
Source      SslFactory.createNewSslEngineFactory, CertificateEntries.ensureCompatible in Kafka 3.9; KIP-226.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_zk.tls.settings import TlsSettings

CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"


@dataclass(frozen=True, slots=True)
class OwnCertificate:
    """An entry of a key store, as far as a replacement is compared with it."""

    alias: str
    name: str
    """RFC 2253."""
    shown_name: str
    """As Java's toString shows it."""
    alternatives: frozenset[tuple[int, str]]
    """Kind (2 a DNS name, 7 an address) and text."""


def refusal(old: TlsSettings, new: TlsSettings) -> str | None:
    """Why a store may not come or go, None if none does."""
    if old.key is None and new.key is not None:
        return "Cannot add SSL keystore to an existing listener for which no keystore was configured."
    if old.key is not None and new.key is None:
        return "Cannot remove the SSL keystore from an existing listener for which a keystore was configured."
    if old.trust is None and new.trust is not None:
        return "Cannot add SSL truststore to an existing listener for which no truststore was configured."
    return None


def difference(
    old: Sequence[OwnCertificate],
    new: Sequence[OwnCertificate],
    *,
    may_change_names: bool,
    may_change_alternatives: bool,
) -> str | None:
    """Why the certificates of a new key store may not replace those of the old one, None if they may."""
    if not may_change_names:
        if len(old) != len(new):
            return (
                f"Keystore entries do not match, existing store contains {len(old)} entries, "
                f"new store contains {len(new)} entries"
            )
        for before, after in zip(old, new, strict=True):
            if before.name.lower() != after.name.lower():
                return (
                    f"Keystore DistinguishedName does not match:  existing={{alias={before.alias}, "
                    f"DN={before.shown_name}}}, new={{alias={after.alias}, DN={after.shown_name}}}"
                )
    if not may_change_alternatives:
        for before, after in zip(old, new, strict=False):
            if not before.alternatives <= after.alternatives:
                return (
                    f"Keystore SubjectAltNames do not match:  existing={{alias={before.alias}, "
                    f"SAN={_shown(before)}}}, new={{alias={after.alias}, SAN={_shown(after)}}}"
                )
    return None


def _shown(certificate: OwnCertificate) -> str:
    return "[" + ", ".join(f"[{kind}, {text}]" for kind, text in sorted(certificate.alternatives)) + "]"
