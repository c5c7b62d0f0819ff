"""RequestMemory: who may read a request, and who waits."""

from __future__ import annotations

from kafka_zk.network.request_memory import RequestMemory, _Ticket


class Now:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns


def waiting(memory: RequestMemory, size_bytes: int, served: list[int]) -> _Ticket:
    assert not memory.try_take(size_bytes)
    ticket = _Ticket(size_bytes, lambda: served.append(size_bytes))
    memory.queue(ticket)
    return ticket


def test_while_a_byte_is_left_any_request_may_be_read() -> None:
    memory = RequestMemory(10, Now())
    assert memory.try_take(9)
    assert memory.try_take(500)
    assert (memory.available_bytes, memory.used_bytes) == (-499, 509)
    assert not memory.try_take(1)
    memory.give_back(500)
    assert memory.try_take(1)
    assert not memory.try_take(1)


def test_who_waits_is_served_in_order_and_nobody_slips_in() -> None:
    memory = RequestMemory(10, Now())
    served: list[int] = []
    assert memory.try_take(10)
    for size_bytes in (3, 20, 1):
        waiting(memory, size_bytes, served)
    memory.give_back(2)
    assert served == [3]
    memory.give_back(4)
    assert served == [3, 20]
    assert not memory.try_take(1)
    memory.give_back(20)
    assert served == [3, 20, 1]
    assert memory.used_bytes == 10 - 2 + 3 - 4 + 20 - 20 + 1


def test_who_leaves_gives_back_what_was_granted_and_makes_way() -> None:
    memory = RequestMemory(10, Now())
    served: list[int] = []
    assert memory.try_take(10)
    first, second = waiting(memory, 5, served), waiting(memory, 6, served)
    memory.leave(first)
    memory.give_back(10)
    assert served == [6]
    memory.leave(second)
    assert memory.used_bytes == 0


def test_a_frame_is_given_back_once() -> None:
    memory = RequestMemory(10, Now())
    frame = memoryview(b"12345")
    assert memory.try_take(len(frame))
    memory.hand_out(frame)
    memory.take_back(frame)
    memory.take_back(frame)
    assert memory.available_bytes == 10


def test_the_time_without_memory_is_counted_when_it_is_over() -> None:
    now = Now()
    memory = RequestMemory(10, now)
    assert memory.try_take(10)
    now.ns += 5_000_000
    assert memory.depleted_ms == 0, "nobody has asked for more yet"
    assert not memory.try_take(1)
    now.ns += 7_000_000
    assert not memory.try_take(1)
    now.ns += 1_000_000
    memory.give_back(1)
    assert memory.depleted_ms == 8
    now.ns += 50_000_000
    assert memory.try_take(1)
    assert memory.depleted_ms == 8
