"""Names of random streams, and their digests by BLAKE2b (RFC 7693), some at a time."""

from typing import Any

import numpy as np

from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import BLOCK, CHAIN, LENGTH_OF, MIXED, TEXT

_IV = np.array(
    [0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
     0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179],
    dtype=np.uint64,
)  # fmt: skip
_SIGMA = np.array(
    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
     [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
     [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
     [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
     [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
     [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
     [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
     [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
     [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
     [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0]],
    dtype=np.uint64,
)  # fmt: skip
_ROUNDS = 12
_OF_16_BYTES = np.uint64(0x01010010)
_WIDTH = np.uint64(64)
_R1, _R2, _R3, _R4 = np.uint64(32), np.uint64(24), np.uint64(16), np.uint64(63)


@step
def spell(d: Any, stage: int, first: int, count: int) -> None:
    """Write the names of the streams of so many owners' stage as the first texts."""
    texts, length = d.texts, int(d.begun[0])
    for i in range(1, len(d.begun)):
        for lane in range(count):
            texts[TEXT - 1 + i, lane] = d.begun[i]
    digits = 0
    for lane in range(count):
        number = d.numbers[first + lane]
        if lane > 0 and number % 10 > 0 and number == d.numbers[first + lane - 1] + 1:
            follow(texts, lane, length, length + digits - 1)
            continue
        digits, above = 1, 10
        while number >= above:
            above *= 10
            digits += 1
        for place in range(length + digits - 1, length - 1, -1):
            put(texts, lane, place, 48 + number % 10)
            number //= 10
        texts[LENGTH_OF, lane] = write(d.endings[stage], texts, lane, length + digits)


@step
def follow(texts: Any, lane: int, begins: int, last: int) -> None:
    """Write the name after that of the lane before: the digit at the last place is one more."""
    texts[LENGTH_OF, lane] = texts[LENGTH_OF, lane - 1]
    for row in range(TEXT + (begins >> 3), TEXT + ((int(texts[LENGTH_OF, lane]) - 1) >> 3) + 1):
        texts[row, lane] = texts[row, lane - 1]
    texts[TEXT + (last >> 3), lane] += np.uint64(1) << np.uint64(8 * (last & 7))


@step
def write(part: Any, texts: Any, lane: int, length: int) -> int:
    """Write a part of a name behind so many bytes; return how many there are then."""
    for byte in part:
        if byte == 0:
            break
        put(texts, lane, length, byte)
        length += 1
    return length


@step
def put(texts: Any, lane: int, place: int, byte: int) -> None:
    """Write a byte of a text."""
    texts[TEXT + (place >> 3), lane] |= np.uint64(byte) << np.uint64(8 * (place & 7))


@step
def digest(texts: Any, count: int) -> None:
    """Leave the digests of the first texts, 16 bytes each, in the first rows of their chains."""
    lengths, blocks = texts[LENGTH_OF], 0
    for lane in range(count):
        blocks = max(blocks, (int(lengths[lane]) + BLOCK - 1) // BLOCK)
        for i in range(8):
            texts[CHAIN + i, lane] = _IV[i]
        texts[CHAIN, lane] ^= _OF_16_BYTES
    for block in range(blocks):
        for i in range(8):
            for lane in range(count):
                texts[MIXED + i, lane], texts[MIXED + 8 + i, lane] = texts[CHAIN + i, lane], _IV[i]
        for lane in range(count):
            length, end = int(lengths[lane]), (block + 1) * BLOCK
            texts[MIXED + 12, lane] ^= np.uint64(min(length, end))
            if length <= end:
                texts[MIXED + 14, lane] = ~texts[MIXED + 14, lane]
        compress(texts[MIXED:TEXT], texts[TEXT + 16 * block :], count)
        for lane in range(count):
            if int(lengths[lane]) > block * BLOCK:  # a shorter text has its digest already
                for i in range(8):
                    texts[CHAIN + i, lane] ^= texts[MIXED + i, lane] ^ texts[MIXED + 8 + i, lane]


@step
def compress(v: Any, m: Any, count: int) -> None:
    """Mix a block of each text in: rounds of columns, then diagonals."""
    for number in range(_ROUNDS):
        s = _SIGMA[number % 10]
        mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]], count)
        mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]], count)
        mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]], count)
        mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]], count)
        mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]], count)
        mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]], count)
        mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]], count)
        mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]], count)


@step
def mix(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any, count: int) -> None:
    """Mix two words of each text into four."""
    for lane in range(count):
        above = a[lane] + b[lane] + x[lane]
        right = rotated(d[lane] ^ above, _R1)
        below = c[lane] + right
        left = rotated(b[lane] ^ below, _R2)
        a[lane] = above = above + left + y[lane]
        d[lane] = right = rotated(right ^ above, _R3)
        c[lane] = below = below + right
        b[lane] = rotated(left ^ below, _R4)


@step
def rotated(word: Any, bits: Any) -> Any:
    """Return a word turned to the right."""
    return (word >> bits) | (word << (_WIDTH - bits))
