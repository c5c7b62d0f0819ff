"""kafka-delegation-tokens.sh: creates, renews, ends and describes delegation tokens.

Options, texts, streams and exit codes are those of Apache Kafka 3.9.
Source: org.apache.kafka.tools.DelegationTokenCommand.
"""

from __future__ import annotations

import base64
import binascii
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.java_output import JavaError, awaited, illegal_argument, show_warnings
from kafka_zk.tools.common.options import Option, Options, UsageError

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.tokens import DelegationToken, Principal

ABOUT = "This tool helps to create, renew, expire, or describe delegation tokens."
ACTIONS = ("create", "renew", "expire", "describe")
VALUES = (
    "owner-principal",
    "renewer-principal",
    "max-life-time-period",
    "renew-time-period",
    "expiry-time-period",
    "hmac",
)
OPTIONS = (
    *(Option(name, takes_value=True) for name in ("bootstrap-server", "command-config")),
    *(Option(name, takes_value=True, value_is_optional=True, is_number=name.endswith("period")) for name in VALUES),
    *(Option(name) for name in (*ACTIONS, "help", "version")),
)
REQUIRED = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
REFUSED = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renew-time-period", "max-life-time-period", "renewer-principal", "owner-principal"),
    "describe": ("renewer-principal", "renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
ROW = "{:<15} {:<30} {:<15} {:<15} {:<25} {:<15} {:<15} {:<15}"
HEADER = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _main(words), tool="delegation_tokens")


def _main(arguments: Sequence[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("bootstrap-server", "command-config")
    chosen = [action for action in ACTIONS if options.has(action)]
    if len(chosen) != 1:
        raise UsageError("Command must include exactly one action: --create, --renew, --expire or --describe")
    (action,) = chosen
    options.require(*REQUIRED[action])
    options.refuse_beside(action, REFUSED[action])
    properties = client_properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        try:
            _DO[action](admin, options)
        except (BrokerError, KafkaException) as error:
            raise awaited(error) from error


def _create(admin: AdminClient, options: Options) -> None:
    renewers = _principals(options, "renewer-principal")
    max_lifetime_ms = _period(options, "max-life-time-period")
    owners = _principals(options, "owner-principal")
    shown = ", ".join(map(_text, renewers))
    print(f"Calling create token operation with renewers :[{shown}] , max-life-time-period :{max_lifetime_ms}")
    token = admin.create_delegation_token(
        renewers=renewers,
        max_lifetime_ms=max_lifetime_ms,
        owner=owners[0] if owners else None,
    )
    print(f"Created delegation token with tokenId : {token.token_id}")
    _show([token])


def _renew(admin: AdminClient, options: Options) -> None:
    hmac = options.text("hmac") or ""
    period_ms = _period(options, "renew-time-period")
    print(f"Calling renew token operation with hmac :{hmac} , renew-time-period :{period_ms}")
    end_ms = admin.renew_delegation_token(_decoded(hmac), period_ms)
    print(f"Completed renew operation. New expiry date : {_date(end_ms)}")


def _expire(admin: AdminClient, options: Options) -> None:
    hmac = options.text("hmac") or ""
    period_ms = _period(options, "expiry-time-period")
    print(f"Calling expire token operation with hmac :{hmac} , expire-time-period :{period_ms}")
    end_ms = admin.expire_delegation_token(_decoded(hmac), period_ms)
    print(f"Completed expire operation. New expiry date : {_date(end_ms)}")


def _describe(admin: AdminClient, options: Options) -> None:
    owners = _principals(options, "owner-principal")
    if owners:
        print(f"Calling describe token operation for owners: [{', '.join(map(_text, owners))}]")
    else:
        print("Calling describe token operation for current user.")
    tokens = admin.describe_delegation_tokens(owners or None)
    # Without an end of its own: the table begins with one.
    print(f"Total number of tokens : {len(tokens)}", end="")
    _show(tokens)


_DO = {"create": _create, "renew": _renew, "expire": _expire, "describe": _describe}


def _show(tokens: Sequence[DelegationToken]) -> None:
    print("\n" + ROW.format(*HEADER))
    for token in tokens:
        print(
            "\n"
            + ROW.format(
                token.token_id,
                base64.b64encode(token.hmac).decode(),
                _text(token.owner),
                _text(token.requester),
                f"[{', '.join(map(_text, token.renewers))}]",
                _date(token.issue_ms),
                _date(token.expiry_ms),
                _date(token.max_ms),
            )
        )


def _principals(options: Options, name: str) -> list[Principal]:
    found = []
    for text in options.texts(name):
        kind, colon, principal = text.strip().partition(":")
        if not colon:
            raise illegal_argument(f"expected a string in format principalType:principalName but got {text}")
        found.append((kind, principal))
    return found


def _period(options: Options, name: str) -> int:
    """Raises JavaError for an option without a value, or with one that is no number."""
    found = options.long(name)
    if found is None:
        raise JavaError(
            'Cannot invoke "java.lang.Long.longValue()" because the return value of '
            '"joptsimple.OptionSet.valueOf(joptsimple.OptionSpec)" is null',
            "java.lang.NullPointerException",
        )
    return found


def _text(principal: Principal) -> str:
    return ":".join(principal)


def _decoded(hmac: str) -> bytes:
    try:
        return base64.b64decode(hmac, validate=True)
    except (binascii.Error, ValueError):
        raise illegal_argument(f"The HMAC is not base64: {hmac}") from None


def _date(epoch_ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(epoch_ms / 1000))


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
