"""Faults in the tools for ACLs and delegation tokens, and in the secured cluster to try things on."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

WANTED = "tests/unit/tools/test_acls.py"
TRIAL = "tests/integration/test_secure_cluster.py -k "

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="what is denied is not allowed",
        file="kafka_zk/tools/acls/wanted.py",
        old='(("allow", Permission.ALLOW), ("deny", Permission.DENY))',
        new='(("allow", Permission.ALLOW), ("deny", Permission.ALLOW))',
        tests=WANTED,
    ),
    Mutant(
        breaks="a consumer's group gets no right to describe",
        file="kafka_zk/tools/acls/wanted.py",
        old="    group = _entries(options, (Operation.READ,))\n",
        new="    group = _entries(options, (Operation.READ, Operation.DESCRIBE))\n",
        tests=WANTED,
    ),
    Mutant(
        breaks="a prefix is never a rule for the whole cluster",
        file="kafka_zk/tools/acls/wanted.py",
        old="        is_literal = pattern_type is PatternType.LITERAL\n",
        new="        is_literal = True\n",
        tests=WANTED,
    ),
    Mutant(
        breaks="a port that is taken is named before anything of a trial starts",
        file="scripts/secure_cluster.py",
        old="        refuse_unusable(state.ports)\n",
        new="",
        tests=TRIAL + "taken",
    ),
    Mutant(
        breaks="a server of a trial that ends is not waited for",
        file="scripts/secure_cluster_servers.py",
        old="            self.check()\n            if time.monotonic() > deadline:\n",
        new="            if time.monotonic() > deadline:\n",
        tests=TRIAL + "ends_is_told",
    ),
    Mutant(
        breaks="a trial that cannot be started leaves no server",
        file="scripts/secure_cluster.py",
        old="            servers.stop()\n            raise\n",
        new="            raise\n",
        tests=TRIAL + "nothing_runs_on",
    ),
    Mutant(
        breaks="a signal stops what a trial has started",
        file="scripts/secure_cluster.py",
        old="        except BaseException:\n            interrupts.ignore()\n",
        new="        except Exception:\n            interrupts.ignore()\n",
        tests=TRIAL + "a_signal",
    ),
    Mutant(
        breaks="a process of a trial is known by when it started",
        file="scripts/secure_cluster_servers.py",
        old="    return started_at(process.pid) == process.started_at\n",
        new="    return started_at(process.pid) is not None\n",
        tests=TRIAL + "known_by",
    ),
)
