"""Addresses of ZooKeeper that are none: Java's sentence and exit code 1, and no traceback."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.connect_string import check_connect_string
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.configs import __main__ as configs
from kafka_zk.tools.topics import __main__ as topics
from kafka_zk.tools.zookeeper_shell import __main__ as zookeeper_shell

WRONG = [
    ("foo:bar", 'java.lang.NumberFormatException: For input string: "bar"'),
    ("a:1,b:x/chroot", 'java.lang.NumberFormatException: For input string: "x"'),
    ("127.0.0.1:99999", "java.lang.IllegalArgumentException: port out of range:99999"),
    ("h\udcff:2181", "java.net.UnknownHostException: h?: Name or service not known"),
    ("[::1", "java.lang.IllegalArgumentException: Invalid IPv6 URL"),
    ("", "java.lang.IllegalArgumentException: bad hostname"),
]


@pytest.mark.parametrize("right", ["h", "h:", "h:1,i:65535/a/b", "[::1]", "[::1]:2181", "127.0.0.1:2181"])
def test_what_java_can_parse_passes(right: str) -> None:
    check_connect_string(right)


@pytest.mark.parametrize(("wrong", "sentence"), WRONG[:3])
def test_the_tools_tell_a_wrong_address_in_java_s_words(
    wrong: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zookeeper_shell.main([wrong, "ls", "/"]) == 1
    assert capsys.readouterr().err == f'Exception in thread "main" {sentence}\n'
    assert topics.main(["--zookeeper", wrong, "--list"]) == 1
    assert f'Exception in thread "main" {sentence}\n' in capsys.readouterr().err
    assert configs.main(["--zookeeper", wrong, "--describe", "--entity-type", "brokers", "--entity-name", "1"]) == 1
    assert capsys.readouterr().err == sentence.partition(": ")[2] + "\n"


def test_a_name_in_another_encoding_is_told_by_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    wrong, sentence = WRONG[3]
    assert zookeeper_shell.main([wrong, "ls", "/"]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("Connecting to h?:2181\n", f'Exception in thread "main" {sentence}\n')


@pytest.mark.parametrize(("wrong", "sentence"), WRONG)
def test_each_is_named(wrong: str, sentence: str) -> None:
    with pytest.raises(JavaError) as raised:
        check_connect_string(wrong)
    assert f"{raised.value.java_class}: {raised.value}" == sentence
