"""What JAAS texts say; tests/interop/test_jaas compares thousands of them with the JVM."""

from __future__ import annotations

import pytest

from kafka_zk.sasl.jaas import PLAIN, SCRAM, JaasError, parse_file, parse_value, single_module


def test_a_module_has_a_flag_and_options() -> None:
    (module,) = parse_value(f'{PLAIN} required username="al\\"ice" password=\'p w\' user_bob=x1;')
    assert (module.name, module.flag) == (PLAIN, "REQUIRED")
    assert module.options == {"username": 'al"ice', "password": "p w", "user_bob": "x1"}


def test_no_repr_shows_an_option() -> None:
    assert "hidden-7" not in repr(parse_value(f"{PLAIN} required password=hidden-7;"))


def test_comments_are_skipped_and_an_unquoted_slash_begins_one() -> None:
    (module,) = parse_value(f"/* first */ {PLAIN} required // rest\n a=b/c\n;")
    assert module.options == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Login module not specified in JAAS config"),
        ("a", "Login module control flag not specified in JAAS config"),
        ("a always k=v;", "Invalid login module control flag 'always' in JAAS config"),
        ("a required k=v", "JAAS config entry not terminated by semi-colon"),
        ("a required k=1;", "Value not specified for key 'k' in JAAS config"),
        ("a required k;", "Value not specified for key 'k' in JAAS config"),
    ],
)
def test_errors_have_kafkas_words(text: str, error: str) -> None:
    with pytest.raises(JaasError) as raised:
        parse_value(text)
    assert str(raised.value) == error


def test_a_property_holds_one_module() -> None:
    with pytest.raises(JaasError, match="JAAS config property contains 2 login modules, should be 1 module"):
        single_module(f"{PLAIN} required; {SCRAM} required;")


@pytest.mark.parametrize("name", ["JndiLoginModule", "LdapLoginModule"])
def test_modules_that_load_what_others_name_are_refused(name: str) -> None:
    """CVE-2023-25194, CVE-2025-27818"""
    with pytest.raises(JaasError, match=f"com.sun.security.auth.module.{name} is not allowed. Update System property"):
        single_module(f'com.sun.security.auth.module.{name} required user.provider.url="ldap://attacker";')


def test_a_module_that_is_not_built_in_is_refused() -> None:
    with pytest.raises(JaasError, match=r"No LoginModule found for com\.example\.Own"):
        single_module("com.example.Own required;")


def test_a_file_has_sections() -> None:
    sections = parse_file(
        f"KafkaServer {{\n {PLAIN} required a=b;\n {SCRAM} optional;\n}};\nClient {{ {PLAIN} required; }};"
    )
    assert [module.name for module in sections["KafkaServer"]] == [PLAIN, SCRAM]
    assert list(sections) == ["KafkaServer", "Client"]


def test_a_bad_file_names_the_line() -> None:
    with pytest.raises(JaasError, match=r"Line 3: expected \[option value\]"):
        parse_file("KafkaServer {\n a required\n b=;\n};")
