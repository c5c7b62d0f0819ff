"""What Java 17 and Kafka 3.9.1 say to names of certificates and rules for them: `python -m tests.interop.tls.goldens`.

The answers are tests/golden/tls/answers.json, the stores beside it are keytool's.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.x509 import NameOID, ObjectIdentifier
from cryptography.x509.name import _ASN1Type  # names of any type of string

from kafka_zk.zk.embedded import find_java
from tests.support.apache import classpath

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
PROGRAM = Path(__file__).with_name("Answers.java")
STORE_PASSWORD, KEY_PASSWORD = "store-pass", "key-pass-2"

_T = _ASN1Type
# fmt: off
NAMES: list[list[list[tuple[ObjectIdentifier, str, _ASN1Type]]]] = [
    [[(NameOID.COUNTRY_NAME, "DE", _T.PrintableString)], [(NameOID.ORGANIZATION_NAME, "Org", _T.UTF8String)],
     [(NameOID.COMMON_NAME, "kafka.example.com", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "Doe, Jane", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, 'a "quoted" name', _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "a+b=c<d>e;f\\g#h", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "#first", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "  two spaces around  ", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, " ", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "Müller Ñandú 日本 😀", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "BMP name", _T.BMPString)]],
    [[(NameOID.COMMON_NAME, "universal", _T.UniversalString)]],
    [[(NameOID.COMMON_NAME, "printable", _T.PrintableString)]],
    [[(NameOID.COMMON_NAME, "t61 name", _T.T61String)]],
    [[(NameOID.COMMON_NAME, "ia5@name", _T.IA5String)]],
    [[(NameOID.COMMON_NAME, "line\nfeed\ttab\rreturn", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "nul\0inside", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "\rreturns\r", _T.UTF8String)]],
    [[(NameOID.COMMON_NAME, "who", _T.UTF8String)], [(NameOID.EMAIL_ADDRESS, "who@example.com", _T.IA5String)]],
    [[(NameOID.ORGANIZATION_NAME, "O", _T.UTF8String)],
     [(NameOID.COMMON_NAME, "multi", _T.UTF8String), (NameOID.USER_ID, "u1", _T.UTF8String)]],
    [[(NameOID.DOMAIN_COMPONENT, "com", _T.IA5String)], [(NameOID.DOMAIN_COMPONENT, "example", _T.IA5String)],
     [(NameOID.USER_ID, "jdoe", _T.UTF8String)]],
    [[(NameOID.STATE_OR_PROVINCE_NAME, "Bavaria", _T.UTF8String)], [(NameOID.LOCALITY_NAME, "M", _T.UTF8String)],
     [(NameOID.STREET_ADDRESS, "S 1", _T.UTF8String)], [(NameOID.ORGANIZATIONAL_UNIT_NAME, "OU", _T.UTF8String)]],
    [[(NameOID.SERIAL_NUMBER, "12", _T.PrintableString)], [(NameOID.SURNAME, "S", _T.UTF8String)],
     [(NameOID.TITLE, "T", _T.UTF8String)], [(NameOID.GIVEN_NAME, "G", _T.UTF8String)],
     [(ObjectIdentifier("1.2.3.4.5"), "own", _T.UTF8String)]],
    [],
]
_JANE = "CN=Jane Doe,OU=Service-Users,O=Org,L=M,ST=B,C=DE"
RULES: list[tuple[str, str]] = [
    ("DEFAULT", _JANE),
    ("", _JANE),
    (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", _JANE),
    (r"RULE:^CN=(.*?),OU=Service-Users.*$/$1/", _JANE),
    (r"RULE:^CN=(.*?),OU=Service-Users.*$/$1/L", _JANE),
    (r"RULE:^CN=(.*?),OU=Service-Users.*$/$1/U", _JANE),
    (r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,RULE:^.*$/never/", _JANE),
    (r"RULE:^CN=nobody$/x/, RULE:^.*OU=(.*?),.*$/$1\/y/ , DEFAULT", _JANE),
    (r"RULE:^CN=(.*?),.*$/$9/", _JANE),
    (r"RULE:^CN=(.*?),.*$/$12/", _JANE),
    (r"RULE:^CN=(.*?),.*$/$0/", _JANE),
    (r"RULE:^CN=(?<who>.*?),.*$/${who}!/", _JANE),
    (r"RULE:^CN=(.*?),.*$/a\$b\\c/", _JANE),
    (r"RULE:CN=Jane/x/", _JANE),
    (r"RULE:.*/x/", _JANE),
    (r"RULE:^CN=a\/b,.*$/slash/", "CN=a/b,O=c"),
    (r"RULE:^CN=nobody$/x/,RULE:^CN=else$/y/L", _JANE),
    (r"RULE:^CN=(.*)$/$1", _JANE),
    (r"garbage", _JANE),
    (r"RULE:^CN=x$/y/Z", _JANE),
    (r"DEFAULT,garbage", _JANE),
    (r"RULE:^.*$/ÄÖ/L", _JANE),
    (r",,DEFAULT,", _JANE),
]
# fmt: on


def name_bytes(parts: list[list[tuple[ObjectIdentifier, str, _ASN1Type]]]) -> bytes:
    def attribute(oid: ObjectIdentifier, text: str, kind: _ASN1Type) -> x509.NameAttribute[str]:
        return x509.NameAttribute(oid, text, kind, _validate=False)

    return x509.Name(
        [x509.RelativeDistinguishedName([attribute(*each) for each in part]) for part in parts]
    ).public_bytes()


def javas_answers(questions: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_text("\n".join(questions) + "\n", encoding="utf-8", newline="\n")
        command = [str(find_java().launcher), "-Dfile.encoding=UTF-8", "-cp", classpath(), str(PROGRAM)]
        subprocess.run([*command, str(asked), str(answered)], check=True)
        return answered.read_bytes().decode().split("\0")[:-1]


def make_stores() -> None:
    """A JKS key store of two keys and a trusted certificate, passwords of key and store being different."""
    keytool = str(find_java().launcher.with_name("keytool"))

    def run(*arguments: str) -> None:
        subprocess.run([keytool, *arguments], check=True, capture_output=True)

    store = GOLDEN / "two-keys.jks"
    store.unlink(missing_ok=True)
    common = ["-keystore", str(store), "-storetype", "JKS", "-storepass", STORE_PASSWORD]
    for alias, algorithm in (("ec", "EC"), ("rsa", "RSA")):
        made = ["-genkeypair", "-alias", alias, "-keyalg", algorithm, "-dname", f"CN={alias}", "-validity", "36500"]
        run(*made, "-ext", "SAN=dns:localhost", "-keypass", KEY_PASSWORD, *common)
    exported = GOLDEN / "ec.der"
    run("-exportcert", "-alias", "ec", "-file", str(exported), *common)
    for kind in ("JKS", "PKCS12", "JCEKS"):
        trust = GOLDEN / f"trust.{kind.lower()}"
        trust.unlink(missing_ok=True)
        where = ["-keystore", str(trust), "-storetype", kind, "-storepass", STORE_PASSWORD]
        run("-importcert", "-noprompt", "-alias", "ec", "-file", str(exported), *where)


def main() -> None:
    names = [name_bytes(parts).hex() for parts in NAMES]
    # One that is not UTF-8 where it should be.
    names.append("301031 0e300c060355040313 05 61ff62fe63".replace(" ", ""))
    questions = [f"name {each}" for each in names] + [f"rule {rules}\t{name}" for rules, name in RULES]
    shown = javas_answers(questions)
    GOLDEN.mkdir(parents=True, exist_ok=True)
    content = {
        "names": [{"der": der, "text": text} for der, text in zip(names, shown, strict=False)],
        "rules": [
            {"rules": rules, "name": name, "answer": answer}
            for (rules, name), answer in zip(RULES, shown[len(names) :], strict=True)
        ],
    }
    (GOLDEN / "answers.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    make_stores()


if __name__ == "__main__":
    main()
