"""Values of security keys that need no code of their own here, and those that count behind a prefix only.

Role        Pure. `config/support.py` asks what to say of a key that nothing reads.
Source      The JDK's JSSE for the algorithms; LoginManager, SaslChannelBuilder and JaasContext in Kafka 3.9.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = "org.apache.kafka.common.security"

BUILT_IN_CLASSES: Final[dict[str, tuple[str, ...]]] = {
    "principal.builder.class": (f"{_COMMON}.authenticator.DefaultKafkaPrincipalBuilder",),
    "sasl.client.callback.handler.class": (
        f"{_COMMON}.authenticator.SaslClientCallbackHandler",
        f"{_COMMON}.oauthbearer.internals.OAuthBearerSaslClientCallbackHandler",
    ),
    "sasl.login.callback.handler.class": (
        f"{_COMMON}.authenticator.AbstractLogin$DefaultLoginCallbackHandler",
        f"{_COMMON}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        f"{_COMMON}.oauthbearer.OAuthBearerLoginCallbackHandler",
        f"{_COMMON}.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    ),
    "sasl.login.class": (
        f"{_COMMON}.authenticator.DefaultLogin",
        f"{_COMMON}.kerberos.KerberosLogin",
        f"{_COMMON}.oauthbearer.internals.OAuthBearerRefreshingLogin",
    ),
    "sasl.server.callback.handler.class": (
        f"{_COMMON}.authenticator.SaslServerCallbackHandler",
        f"{_COMMON}.oauthbearer.OAuthBearerValidatorCallbackHandler",
        f"{_COMMON}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
        f"{_COMMON}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
        f"{_COMMON}.plain.internals.PlainServerCallbackHandler",
        f"{_COMMON}.scram.internals.ScramServerCallbackHandler",
    ),
    "ssl.engine.factory.class": (f"{_COMMON}.ssl.DefaultSslEngineFactory",),
}
"""Classes that Kafka itself brings: a broker that names one starts."""

_OF_THE_JDK: Final[dict[str, tuple[str, ...]]] = {
    "ssl.keymanager.algorithm": ("PKIX", "SunX509", "NewSunX509"),
    "ssl.protocol": ("TLS", "TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1"),
    "ssl.provider": ("", "SunJSSE"),
    "ssl.secure.random.implementation": (
        "", "DRBG", "NativePRNG", "NativePRNGBlocking", "NativePRNGNonBlocking", "SHA1PRNG",
    ),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509"),
}  # fmt: skip
"""What any JDK has. OpenSSL does the same; which versions of TLS are spoken says ssl.enabled.protocols."""

_BEHIND_A_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.server.callback.handler.class",
)
"""A broker reads these with the prefix of a listener and a mechanism only, as Kafka does."""

# There is no listener of a KRaft controller.
_OF_KRAFT: Final = ("sasl.mechanism.controller.protocol",)
_MECHANISMS: Final = ("gssapi.", "oauthbearer.", "plain.", "scram-sha-256.", "scram-sha-512.")


def without_mechanism(key: str) -> str:
    """scram-sha-512.sasl.jaas.config -> sasl.jaas.config; `key` has no listener's prefix any more."""
    found = next((each for each in _MECHANISMS if key.startswith(each)), "")
    return key.removeprefix(found)


def security_remark(key: str, value: str, *, has_mechanism: bool) -> str | None:
    """What to tell of a key of security that nothing reads; "": its value needs nothing; None: no such key.

    `key` comes without prefixes; `has_mechanism`: it had those of a listener and a mechanism.
    """
    if key in _OF_KRAFT:
        return ""
    if key == "sasl.jaas.config" and has_mechanism:
        return ""
    if key in _BEHIND_A_MECHANISM and not has_mechanism:
        return "has no effect: it counts with the prefix of a listener and a mechanism only."
    if key in _OF_THE_JDK:
        return "" if value in _OF_THE_JDK[key] else f": ignoring {value}, since TLS is OpenSSL's here."
    if key in BUILT_IN_CLASSES:
        is_known = value in ("", *BUILT_IN_CLASSES[key])
        return "" if is_known else f": ignoring {value}, since Java classes cannot be loaded."
    return None
