"""Which tests get a second try."""

from __future__ import annotations

import pytest

from tests.support.machine import is_shared_by


@pytest.mark.parametrize(
    ("file", "is_shared"),
    [
        ("tests/unit/network/test_page_cache.py", True),
        ("tests/unit/replication/test_log_dir_moves.py", True),
        ("tests/integration/network/test_socket_server_slices.py", True),
        ("tests/mutants/test_mutants.py", True),
        ("tests/unit/protocol/test_codec.py", False),
        ("tests/unit/record/test_batch.py", False),
        ("tests/simulation/test_controller_lives.py", False),
    ],
)
def test_only_what_shares_the_machine_is_tried_again(file: str, is_shared: bool) -> None:
    assert is_shared_by(f"{file}::test_something") is is_shared
