"""Faults in how ZooKeeper knows its clients, and in what protects the znodes."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="only /consumers itself is open",
        file="kafka_zk/zk/protection.py",
        old="    if path == OPEN_PATH:\n",
        new="    if path.startswith(OPEN_PATH):\n",
        tests="tests/unit/zk/test_protection.py",
    ),
    Mutant(
        breaks="the migration of znodes fails if one refuses",
        file="kafka_zk/tools/zookeeper_security_migration/command.py",
        old="    if refused:\n        raise refused[-1]\n",
        new="",
        tests="tests/unit/tools/test_zookeeper_security_migration.py -k refuses",
    ),
    Mutant(
        breaks="a server must prove that it knows the password",
        file="kafka_zk/sasl/client/digest_md5.py",
        old='            raise ExchangeFailed("The server does not know the password of DIGEST-MD5")\n',
        new="            pass\n",
        tests="tests/unit/sasl/test_digest_md5.py -k not_believed",
    ),
    Mutant(
        breaks="a check of revocation that is not made is refused",
        file="kafka_zk/zk/tls_settings.py",
        old='    for name in ("crl.enable", "ocsp.enable"):\n',
        new='    for name in ("crl.enable",):\n',
        tests="tests/unit/zk/test_tls_settings.py -k not_made",
    ),
    Mutant(
        breaks="a certificate of a store alone is no identity",
        file="kafka_zk/zk/tls_settings.py",
        old="for name in (SOCKET, KEY_STORE)\n",
        new="for name in (KEY_STORE,)\n",
        tests="tests/unit/zk/test_tls_settings.py -k all_three_keys",
    ),
    Mutant(
        breaks="a handshake has an end, however slowly its bytes trickle",
        file="kafka_zk/zk/tls_socket.py",
        old="    with gevent.Timeout(timeout_s, late):\n",
        new="    with gevent.Timeout(10 * timeout_s, late):\n",
        tests="tests/integration/test_zookeeper_tls.py -k never_ends",
    ),
)
