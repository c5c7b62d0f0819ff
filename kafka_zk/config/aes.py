"""AES in CBC mode with PKCS5 padding, with which Kafka encrypts passwords in ZooKeeper.

Role        Pure, and slow (some 20 us a block): made for a handful of short passwords, not for data. The standard
            library has no cipher, and one more dependency would be a high price for it.
Invariants  Equal to Java's "AES/CBC/PKCS5Padding" for keys of 16, 24 and 32 bytes.
Source      FIPS 197; NIST SP 800-38A, 6.2; RFC 5652, 6.3.
"""

from __future__ import annotations

BLOCK_BYTES = 16


def encrypt(key: bytes, initialization_vector: bytes, plain: bytes) -> bytes:
    """`plain`, padded to whole blocks and encrypted. Raises ValueError for a key of another size."""
    round_keys = _expanded(key)
    padding = BLOCK_BYTES - len(plain) % BLOCK_BYTES
    padded = plain + bytes([padding]) * padding
    blocks, before = [], initialization_vector
    for start in range(0, len(padded), BLOCK_BYTES):
        mixed = _xor(padded[start : start + BLOCK_BYTES], before)
        before = _encrypt_block(round_keys, mixed)
        blocks.append(before)
    return b"".join(blocks)


def decrypt(key: bytes, initialization_vector: bytes, encrypted: bytes) -> bytes:
    """Undo `encrypt`. Raises ValueError for what cannot have come from it with this key."""
    round_keys = _expanded(key)
    if not encrypted or len(encrypted) % BLOCK_BYTES or len(initialization_vector) != BLOCK_BYTES:
        raise ValueError("not a whole number of blocks")
    plain, before = bytearray(), initialization_vector
    for start in range(0, len(encrypted), BLOCK_BYTES):
        block = encrypted[start : start + BLOCK_BYTES]
        plain += _xor(_decrypt_block(round_keys, block), before)
        before = block
    padding = plain[-1]
    if not 1 <= padding <= BLOCK_BYTES or plain[-padding:] != bytes([padding]) * padding:
        raise ValueError("the padding is not as it was written: another key")
    return bytes(plain[:-padding])


def _doubled(value: int) -> int:
    """Times x in GF(2^8)."""
    return ((value << 1) ^ 0x11B) if value & 0x80 else value << 1


def _times(left: int, right: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        left, right = _doubled(left), right >> 1
    return product


def _substitutions() -> bytes:
    """The S-box: the inverse in GF(2^8), then an affine map."""
    box = bytearray(256)
    power, inverse = 1, 1
    while True:
        power ^= _doubled(power)  # times 3, a generator
        for shift in (1, 2, 4):
            inverse ^= (inverse << shift) & 0xFF
        if inverse & 0x80:
            inverse ^= 0x09
        turned = inverse
        for shift in range(1, 5):
            turned ^= ((inverse << shift) | (inverse >> (8 - shift))) & 0xFF
        box[power] = turned ^ 0x63
        if power == 1:
            break
    box[0] = 0x63
    return bytes(box)


_SUBSTITUTE = _substitutions()
_RESTORE = bytes(_SUBSTITUTE.index(value) for value in range(256))
_SHIFTED = [(4 * (column + row) + row) % 16 for column in range(4) for row in range(4)]
_SHIFTED_BACK = [(4 * (column - row) + row) % 16 for column in range(4) for row in range(4)]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _expanded(key: bytes) -> list[bytes]:
    """The keys of all rounds."""
    if len(key) not in (16, 24, 32):
        raise ValueError(f"a key of {len(key) * 8} bits")
    words = [key[start : start + 4] for start in range(0, len(key), 4)]
    size, constant = len(words), 1
    while len(words) < 4 * (size + 7):
        word = words[-1]
        if len(words) % size == 0:
            word = (word[1:] + word[:1]).translate(_SUBSTITUTE)
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _doubled(constant)
        elif size > 6 and len(words) % size == 4:
            word = word.translate(_SUBSTITUTE)
        words.append(_xor(word, words[-size]))
    return [b"".join(words[start : start + 4]) for start in range(0, len(words), 4)]


def _encrypt_block(round_keys: list[bytes], block: bytes) -> bytes:
    state = _xor(block, round_keys[0])
    for number, round_key in enumerate(round_keys[1:], 1):
        state = state.translate(_SUBSTITUTE)
        state = bytes(state[place] for place in _SHIFTED)
        if number < len(round_keys) - 1:
            state = _mixed(state, (2, 3, 1, 1))
        state = _xor(state, round_key)
    return state


def _decrypt_block(round_keys: list[bytes], block: bytes) -> bytes:
    state = _xor(block, round_keys[-1])
    for number, round_key in enumerate(reversed(round_keys[:-1]), 1):
        state = bytes(state[place] for place in _SHIFTED_BACK)
        state = _xor(state.translate(_RESTORE), round_key)
        if number < len(round_keys) - 1:
            state = _mixed(state, (14, 11, 13, 9))
    return state


def _mixed(state: bytes, factors: tuple[int, int, int, int]) -> bytes:
    """Each column times a polynomial."""
    mixed = bytearray()
    for start in range(0, 16, 4):
        column = state[start : start + 4]
        for row in range(4):
            value = 0
            for place in range(4):
                value ^= _times(column[place], factors[(place - row) % 4])
            mixed.append(value)
    return bytes(mixed)
