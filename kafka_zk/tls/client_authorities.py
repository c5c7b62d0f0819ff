"""The authorities that a server names when it asks a client for its certificate: those of its trust store, as in Java.

Clients whose key store holds keys of several authorities choose by these names, and librdkafka sends no certificate of
another authority at all. Without names they take any, which the server then refuses.

Role        Calls the OpenSSL of Python's ssl module, which has no function for this.
Invariants  A context whose memory does not look as expected is left alone, and names nobody; so is every context where
            OpenSSL is no shared library.
Source      SSL_CTX_add_client_CA(3); PySSLContext in CPython 3.11 to 3.14 begins with its SSL_CTX.
"""

from __future__ import annotations

import _ssl
import ctypes
import ssl
from collections.abc import Iterable
from functools import cache


def name_authorities(context: ssl.SSLContext, certificates: Iterable[bytes]) -> None:
    """Have a server's context name the subjects of these certificates (DER)."""
    openssl = _openssl()
    if openssl is None:
        return
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    if openssl.SSL_CTX_get_options(address) != context.options & 0xFFFFFFFFFFFFFFFF:
        return
    for der in certificates:
        start = ctypes.c_char_p(der)
        certificate = ctypes.c_void_p(openssl.d2i_X509(None, ctypes.byref(start), len(der)))
        if certificate:
            openssl.SSL_CTX_add_client_CA(address, certificate)
            openssl.X509_free(certificate)


@cache
def _openssl() -> ctypes.CDLL | None:
    """The very library that Python's module uses, also where the machine has others."""
    try:
        library = ctypes.CDLL(getattr(_ssl, "__file__", None))
        library.SSL_CTX_get_options.argtypes = (ctypes.c_void_p,)
        library.SSL_CTX_get_options.restype = ctypes.c_uint64
        library.d2i_X509.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_long)
        library.d2i_X509.restype = ctypes.c_void_p
        library.SSL_CTX_add_client_CA.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        library.X509_free.argtypes = (ctypes.c_void_p,)
        library.X509_free.restype = None
    except (OSError, AttributeError):
        return None
    return library
