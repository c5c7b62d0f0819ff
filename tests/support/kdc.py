"""A Kerberos realm of its own: MIT's KDC on a free port of the loopback, with its database in a folder.

Debian's krb5-kdc, krb5-admin-server and krb5-user have the programs; scripts/test.sh installs them.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.processes import ChildProcess, accepts_connections, free_port

REALM = "EXAMPLE.COM"
SERVICE = "kafka/localhost"
"""The broker's principal. The loopback's address is told by its name, as Java and MIT do."""

KRB5_MODULE = "com.sun.security.auth.module.Krb5LoginModule"

_KRB5_CONF = """[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:{folder}/cache
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_KDC_CONF = """[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principals
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    max_life = 10h
    max_renewable_life = 7d
    supported_enctypes = aes256-cts:normal
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""


@functools.cache
def missing() -> str | None:
    """What a test of Kerberos lacks on this machine; None for nothing."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    lacking = [
        each for each in ("krb5kdc", "kdb5_util", "kadmin.local", "kinit") if shutil.which(each, path=path) is None
    ]
    if lacking:
        return f"no {', '.join(lacking)} (Debian packages krb5-kdc, krb5-admin-server and krb5-user)"
    if importlib.util.find_spec("gssapi") is None:
        return "no Python package gssapi (the extra kafka_zk[kerberos])"
    return None


class Kdc:
    """`principals` are made with random keys; each has a keytab in the folder."""

    def __init__(self, folder: Path, *principals: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.krb5_conf = folder / "krb5.conf"
        self.environ = {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "PATH": os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")),
        }
        self._principals = principals
        self._process = ChildProcess(["krb5kdc", "-n"], folder / "kdc.out", self.environ)

    def start(self) -> Kdc:
        self.folder.mkdir(parents=True, exist_ok=True)
        words = {"realm": REALM, "folder": self.folder, "port": self.port}
        self.krb5_conf.write_text(_KRB5_CONF.format(**words))
        (self.folder / "kdc.conf").write_text(_KDC_CONF.format(**words))
        self.run("kdb5_util", "create", "-s", "-W", "-P", "master-of-tests")
        self.add(*self._principals)
        self._process.start()
        self._process.wait_ready(lambda: accepts_connections(self.port), "the KDC accepts connections")
        return self

    def stop(self) -> None:
        self._process.stop()

    def add(self, *principals: str, options: str = "") -> None:
        """More principals and their keytabs. `options`: of kadmin's addprinc."""
        commands = [f"addprinc -randkey {options} {each}" for each in principals]
        commands += [f"ktadd -k {self.keytab(each)} {each}" for each in principals]
        self.admin(*commands)

    def admin(self, *commands: str) -> None:
        """Run commands of kadmin."""
        self.run("kadmin.local", stdin="".join(f"{each}\n" for each in commands))

    def run(self, *command: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> str:
        """What a program of Kerberos prints."""
        ran = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **self.environ, **(environ or {})},
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def keytab(self, principal: str) -> Path:
        return self.folder / f"{principal.replace('/', '-')}.keytab"

    def jaas(self, principal: str, *, more: str = 'serviceName="kafka"', keytab: Path | None = None) -> str:
        """A value of sasl.jaas.config that logs in with the keytab of `principal`."""
        return (
            f'{KRB5_MODULE} required useKeyTab=true storeKey=true keyTab="{keytab or self.keytab(principal)}" '
            f'principal="{principal}@{REALM}" {more};'
        )

    @property
    def java_option(self) -> str:
        return f"-Djava.security.krb5.conf={self.krb5_conf}"
