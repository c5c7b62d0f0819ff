"""Faults in what is on the wire and in a batch."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an array's count is believed only as far as there are bytes for it",
        file="kafka_zk/protocol/decoder.py",
        old='with source.block("if n > end - pos:"):',
        new='with source.block("if n > 1 << 62:"):',
        tests="tests/unit/protocol",
    ),
    Mutant(
        breaks="the compiled codec reads nothing behind the end of a frame",
        file="kafka_zk/protocol/_codec.pyx",
        old="if size > reader.end - reader.at:",
        new="if size > reader.end - reader.at + 1:",
        tests="tests/unit/protocol/test_twins.py -k vectors",
    ),
    Mutant(
        breaks="error codes inside lists are counted",
        file="kafka_zk/protocol/tally.py",
        old="                tally.count(element, counts)\n",
        new="                pass\n",
        tests="tests/unit/api/test_error_form.py -k counted",
    ),
    Mutant(
        breaks="the leader epoch is written where a batch has it",
        file="kafka_zk/record/_walker.pyx",
        old="<uint8_t*>view.buf + LEADER_EPOCH_AT",
        new="<uint8_t*>view.buf + LEADER_EPOCH_AT + 1",
        tests="tests/unit/record/test_walker.py -k assigning_offsets",
    ),
    Mutant(
        breaks="what a second tag of one field replaces is let go of",
        file="kafka_zk/protocol/_codec.pyx",
        old="                    Py_XDECREF(before)\n",
        new="",
        tests="tests/unit/protocol/test_twins.py -k rounds",
    ),
    Mutant(
        breaks="a class whose first call was refused is served by the compiled codec all the same",
        file="kafka_zk/protocol/value.py",
        old="        if _compiled_maker is not None:\n",
        new="        value_class.__init__(self, **fields)\n        if _compiled_maker is not None:\n",
        tests="tests/unit/protocol/test_twins.py -k first_call",
    ),
    Mutant(
        breaks="a table keeps the largest offset of a key",
        file="kafka_zk/record/filter.py",
        old="    if offset + 1 > found:\n",
        new="    if not found:\n",
        tests="tests/unit/record/test_filter.py -k largest",
    ),
    Mutant(
        breaks="a run of plain batches ends where offsets do not follow",
        file="kafka_zk/record/_runs.pyx",
        old="        or found.base_offset < next_offset\n",
        new="",
        tests="tests/unit/record/test_runs.py -k thought",
    ),
    Mutant(
        breaks="an index entry has the largest timestamp up to its batch",
        file="kafka_zk/record/_runs.pyx",
        old="        known.offset_of_max_timestamp = found.last_offset\n",
        new="        known.offset_of_max_timestamp = found.base_offset\n",
        tests="tests/unit/record/test_runs.py -k takes_in",
    ),
    Mutant(
        breaks="the batches of two producers are kept apart",
        file="kafka_zk/record/_runs.pyx",
        old="        recent.batches[0].producer_id != found.producer_id\n",
        new="        recent.batches[0].producer_id > found.producer_id\n",
        tests="tests/unit/record/test_runs.py -k last_five",
    ),
    Mutant(
        breaks="a record given up leaves no bit in the columns",
        file="kafka_zk/record/columns/_builder.pyx",
        old="<uint8_t>(bits_before(validity, index) | is_valid",
        new="<uint8_t>(validity[index >> 3] | is_valid",
        tests="tests/unit/record/columns/test_builder.py -k given_up",
    ),
    Mutant(
        breaks="headers count against what the positions of a column can tell",
        file="kafka_zk/record/columns/_builder.pyx",
        old="        self.require_positions_for(size + totals.key_bytes + totals.value_bytes)\n",
        new="        self.require_positions_for(size)\n",
        tests="tests/unit/record/columns/test_builder.py -k positions_can_tell",
    ),
    Mutant(
        breaks="records that are looked up some at a time keep their places",
        file="kafka_zk/record/_filter.pyx",
        old="            mask[chosen_count] = stays\n",
        new="            mask[index] = stays\n",
        tests="tests/unit/record/test_filter.py -k as_plain",
    ),
    Mutant(
        breaks="the table of keys is not filled past a batch whose records are not sound",
        file="kafka_zk/record/_filter.pyx",
        old="                if not is_sound:\n                    break\n",
        new="",
        tests="tests/unit/record/test_filter.py -k claims",
    ),
    Mutant(
        breaks="an old message with a negative timestamp is refused with the code of Apache",
        file="kafka_zk/record/conversion.py",
        old="    if earliest < NO_TIMESTAMP:\n",
        new="    if earliest < -(1 << 63):\n",
        tests="tests/unit/record/test_validation.py -k before_1970",
    ),
    Mutant(
        breaks="an old message whose key is longer than itself is refused with the code of Apache",
        file="kafka_zk/record/legacy.py",
        old="    if size > batch.end - position:\n        raise UnknownServerError(_LIES)",
        new="    if size > batch.end - position:\n        raise InvalidRecord(_LIES)",
        tests="tests/unit/record/test_validation.py -k longer_than_itself",
    ),
    Mutant(
        breaks="an error text does not quote all that a client sent",
        file="kafka_zk/protocol/errors.py",
        old="        elif len(message) > LONGEST_MESSAGE:\n",
        new="        elif len(message) > 1_000_000_000:\n",
        tests="tests/unit/protocol/test_errors.py -k quotes_too_much",
    ),
    Mutant(
        breaks="no imports go in a circle",
        file="kafka_zk/protocol/value.py",
        old="from collections.abc import Callable, Sequence\n",
        new="from collections.abc import Callable, Sequence\n\nimport kafka_zk.protocol.schema\n",
        tests="tests/unit/test_circles.py",
    ),
)
