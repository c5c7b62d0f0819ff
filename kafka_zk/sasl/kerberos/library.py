"""The Kerberos library: credentials and security contexts, from MIT's libgssapi through python-gssapi.

Role        Acts: reads files, and asks the KDC. Every call may block for long: callers with an event loop use a thread.
            Imported where Kerberos is used, as the extra kafka_zk[kerberos] brings what it needs.
Source      python-gssapi 1.12 (pinned); MIT Kerberos: krb5.conf, "Credential store extensions".
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from kafka_zk.sasl.kerberos.errors import GssError, KerberosUnavailable
from kafka_zk.sasl.kerberos.options import ANY_PRINCIPAL, NO_PASSWORD, Krb5Options

try:
    import gssapi
    from gssapi.raw.misc import GSSError as LibraryError
except ImportError as error:
    raise KerberosUnavailable(
        f"GSSAPI needs a Kerberos library, which is not installed: pip install 'kafka_zk[kerberos]' ({error})"
    ) from None

_PROTOCOL_ERRORS: Final = -1765328384
"""The first of MIT's minor codes that are errors of the protocol; 128 of them."""
_KDC_UNREACHABLE: Final = (-1765328228, -1765328164)
"""KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE."""

_caches: Final = itertools.count(1)

Result = TypeVar("Result")


def use_krb5_conf(properties: Mapping[str, str]) -> None:
    """Let java.security.krb5.conf of KAFKA_OPTS name krb5.conf, where KRB5_CONFIG does not."""
    named = properties.get("java.security.krb5.conf")
    if named and not os.environ.get("KRB5_CONFIG"):
        os.environ["KRB5_CONFIG"] = named


def default_realm() -> str:
    """Of krb5.conf; empty where there is none."""
    try:
        canonical = gssapi.Name("tmp", gssapi.NameType.kerberos_principal).canonicalize(gssapi.MechType.kerberos)
    except LibraryError:
        return ""
    return str(canonical).rpartition("@")[2]


class Initiator:
    """The tickets of one principal, in a cache of their own or in the user's. Blocks. Raises GssError.

    `renew` asks for new ones where they come from a keytab. MIT's library fetches a ticket for the same principal again
    only once half of its time is over.
    """

    def __init__(self, options: Krb5Options) -> None:
        self._stores = list(_stores(options))
        self._name = None if options.principal is None else _principal(options.principal)
        self._credentials: Any = None
        self.uses_ticket_cache = False
        self.principal = ""
        self.renew()

    def renew(self) -> None:
        """Blocks. Raises GssError: the old tickets stay."""
        failure = GssError(NO_PASSWORD, lacks_credential=True)
        for store in self._stores:
            try:
                self._credentials, self.principal = _tickets(self._name, store)
            except GssError as error:
                failure = error
            else:
                self.uses_ticket_cache = "client_keytab" not in store
                return
        raise failure

    def lifetime_s(self) -> float:
        """Until the ticket ends; 0 where it has ended."""
        try:
            return float(self._credentials.lifetime or 0)
        except LibraryError:
            return 0.0

    def context(self, service: str, host: str) -> Context:
        """The client's side of a context with `service` at `host`, which must prove who it is."""
        flag = gssapi.RequirementFlag
        flags = (
            flag.mutual_authentication
            | flag.integrity
            | flag.confidentiality
            | flag.replay_detection
            | flag.out_of_sequence_detection
        )

        def begin() -> Any:
            name = gssapi.Name(f"{service}@{_name_of(host)}", gssapi.NameType.hostbased_service)
            kerberos = gssapi.MechType.kerberos
            return gssapi.SecurityContext(
                name=name, creds=self._credentials, mech=kerberos, flags=flags, usage="initiate"
            )

        return Context(begin, is_initiator=True)


class Acceptor:
    """The keys of one service. Blocks. Raises GssError where the keytab has none for the principal."""

    def __init__(self, options: Krb5Options) -> None:
        principal, store = options.principal, {}
        if options.uses_keytab and options.keytab is not None:
            store["keytab"] = options.keytab
        # A principal without a host stands for the service at any host.
        is_bound = principal is not None and "/" in principal and principal != ANY_PRINCIPAL
        name = _principal(principal) if principal is not None and is_bound else None
        self._credentials = _credentials("accept", name, store)
        self.service = None
        if principal is not None and not is_bound and principal != ANY_PRINCIPAL:
            self.service = principal.partition("@")[0]

    def context(self) -> Context:
        """The server's side of a context."""
        return Context(lambda: gssapi.SecurityContext(creds=self._credentials, usage="accept"), is_initiator=False)


class Context:
    """A SecurityContext of the library."""

    def __init__(self, begin: Callable[[], Any], *, is_initiator: bool) -> None:
        self._begin = begin
        self._context: Any = None
        self._is_initiator = is_initiator

    @property
    def is_complete(self) -> bool:
        return self._context is not None and bool(self._context.complete)

    @property
    def peer(self) -> str:
        return self._name_of(of_initiator=not self._is_initiator)

    @property
    def own(self) -> str:
        return self._name_of(of_initiator=self._is_initiator)

    def step(self, token: bytes) -> bytes:
        if not token and not self._is_initiator:
            # To the library that would be the beginning of a negotiation of mechanisms.
            raise GssError("Defective token detected: it is empty")
        if self._context is None:
            self._context = _called(self._begin)
            # Errors are raised at once. Kerberos' own tokens about them have no place in SASL.
            self._context.__DEFER_STEP_ERRORS__ = False
        return bytes(_called(self._context.step, token or None) or b"")

    def wrap(self, message: bytes) -> bytes:
        return bytes(_called(self._context.wrap, message, False).message)

    def unwrap(self, message: bytes) -> bytes:
        return bytes(_called(self._context.unwrap, message).message)

    def _name_of(self, *, of_initiator: bool) -> str:
        context = self._context
        return str(_called(lambda: context.initiator_name if of_initiator else context.target_name))


def _tickets(name: Any, store: Mapping[str, str]) -> tuple[Any, str]:
    """Credentials that have not ended, and whose they are."""
    if "client_keytab" in store and name is not None:
        _check_key(name, store["client_keytab"])
    credentials = _credentials("initiate", name, store)
    _called(lambda: credentials.lifetime)
    return credentials, str(_called(lambda: credentials.name))


def _credentials(usage: str, name: Any, store: Mapping[str, str]) -> Any:
    """Of Kerberos alone: no client may choose another mechanism of the library."""
    return _called(gssapi.Credentials, usage=usage, name=name, store=store or None, mechs=[gssapi.MechType.kerberos])


def _check_key(name: Any, keytab: str) -> None:
    """The library would only say that there is no ticket."""
    try:
        _credentials("accept", name, {"keytab": keytab})
    except GssError as error:
        raise GssError(f"{NO_PASSWORD} ({error})", lacks_credential=True) from None


def _stores(options: Krb5Options) -> Any:
    """Where tickets are looked for, in turn, as Krb5LoginModule does: the ticket cache, then the keytab."""
    if options.uses_ticket_cache:
        yield {} if options.ticket_cache is None else {"ccache": f"FILE:{options.ticket_cache}"}
    if options.uses_keytab:
        keytab = {} if options.keytab is None else {"client_keytab": options.keytab}
        yield {"ccache": f"MEMORY:kafka_zk-{next(_caches)}", **keytab}


def _principal(text: str) -> Any:
    return _called(gssapi.Name, text, gssapi.NameType.kerberos_principal)


def _name_of(host: str) -> str:
    """An address stands for the name that belongs to it, as in Java."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    with contextlib.suppress(OSError):
        return socket.getnameinfo((host, 0), 0)[0]
    return host


def _called(work: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    try:
        return work(*arguments, **options)
    except LibraryError as error:
        raise _translated(error) from None
    except UnicodeDecodeError as error:
        raise GssError(f"A name is no UTF-8: {error}") from None


def _translated(error: Any) -> GssError:
    minor = error.min_code - (2**32 if error.min_code >= 2**31 else 0)
    why = "; ".join(error.get_all_statuses(error.min_code, False)) if minor else ""
    if not why or why == "Success":
        why = "; ".join(error.get_all_statuses(error.maj_code, True))
    code = minor - _PROTOCOL_ERRORS
    if 0 < code < 128:
        return GssError(f"{why} ({code})", code=code)
    unusable = (gssapi.exceptions.MissingCredentialsError, gssapi.exceptions.ExpiredCredentialsError)
    return GssError(why, lacks_credential=isinstance(error, unusable) or minor in _KDC_UNREACHABLE)
