"""Amounts: a closed grammar of numbers with signs, currencies, units, multipliers and bounds.

A cell is an amount as a whole or it is none: no part of a text is skipped. What a column's marks
and words mean is learned from its public cells; each cell is then read independently of others.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from asyncdp_sim.data.tables.text_columns import WORDS, plain_digits

_KNOWN = WORDS["amounts"]
_CURRENCIES = _KNOWN["symbols"]
_CODES = frozenset(_KNOWN["currencies"].split())
_SPACES = dict.fromkeys(map(ord, "\u00a0\u202f\u2009\u2007\t"), " ")
_ALIKE = {**_SPACES, **dict.fromkeys(map(ord, "−–‒"), "-"), **dict.fromkeys(map(ord, "’ʼ`"), "'")}
_TAIL = r"[^\d\s()<>≤≥-](?:(?:[^\d()<>≤≥]|(?<=[mt])[23])*(?:[^\d\s()<>≤≥-]|(?<=[mt])[23]))?"
"""A word behind a number, with no digit but that of mm2 or ft3."""
_SHAPE = re.compile(
    rf"""
    (?P<bound>[<>]=?|[≤≥]|)\s*
    (?P<outer>\(?)\s*
    (?P<sign>[-+]?)\s*
    (?P<before>[^\W\d_]{{1,4}}(?:\.\s*|\s+)|[^\W\d_]{{0,3}}[{_CURRENCIES}]\s*|)
    (?P<open>\(?)(?P<inner>[-+]?)\s*
    (?P<digits>[0-9.,' ]*[0-9](?:[.,](?:--?)?)?)
    (?P<exponent>(?:[eE][-+]?[0-9]{{1,3}})?)
    (?P<gap>\s*)(?P<behind>{_TAIL}|)
    (?P<minus>\s*-)?
    (?P<close>\)?)
    """,
    re.VERBOSE,
)
_WHOLE = {
    ".": r"(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:(?P<g>[,' ])[0-9]{3})(?:(?P=g)[0-9]{3})*"
    r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})",
    ",": r"(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:(?P<g>[.' ])[0-9]{3})(?:(?P=g)[0-9]{3})*)",
}
_NUMERAL = {
    mark: re.compile(rf"(?P<whole>{_WHOLE[mark]}|)(?:{re.escape(mark)}(?P<part>[0-9]*))?")
    for mark in _WHOLE
}


def _powers_of(field: str) -> dict[str, int]:
    """Return the power of ten that each word of a field multiplies by."""
    powers = _KNOWN["powers"].items()
    return {word: int(power) for power, row in powers for word in row.get(field, "").split()}


_THREE = re.compile(r"\d\D\d{3}(?!\d)")
"""Digits that may be thousands, or a fraction."""
_LETTERS, _MULTIPLIERS, _SMALL = map(_powers_of, ("letters", "words", "small"))
_FLAG, _SIGN = re.compile(r"(?![BCFKM]$)[A-Z]{1,2}"), re.compile(r"[*†‡#^!~]{1,3}")
"""Such as H and L; but B, K, M may be multipliers, and C, F, K temperatures."""
MOST_FLAGS = 6


@dataclass(frozen=True)
class Parts:
    """A cell in its parts, before anything is decided.

    Attributes
    ----------
    sign : int
        1 or −1.
    bound : str
        Such as "<"; empty for none.
    currency : str
        Or another word in front of the number.
    digits, exponent : str
    tail : str
        What stands behind the number, without a currency.
    attached : bool
        Whether the tail follows without a blank.
    """

    sign: int
    bound: str
    currency: str
    digits: str
    exponent: int
    tail: str
    attached: bool

    def fits(self, decimal: str) -> bool:
        """Tell whether the digits are a number with this decimal mark."""
        return not math.isnan(self.value(decimal))

    @property
    def shown(self) -> str | None:
        """The decimal mark that the cell alone shows; None where it shows none."""
        marks = [mark for mark in ".," if self.fits(mark)]
        return marks[0] if len(marks) == 1 and any(s in self.digits for s in ".,") else None

    def value(self, decimal: str, power: int = 0) -> float:
        """Return the number times 10 to a power; NaN if the digits are none, or it is infinite."""
        match = _NUMERAL[decimal].fullmatch(self.digits)
        if match is None or not (match["whole"] or match["part"]):
            return math.nan
        integer = re.sub(r"[^0-9]", "", match["whole"]) or "0"
        number = self.sign * float(f"{integer}.{match['part'] or '0'}e{self.exponent + power}")
        return number if math.isfinite(number) else math.nan


def parts_of(text: str) -> Parts | None:
    """Return the parts of a text that has the shape of an amount; None for any other."""
    text = plain_digits(text).translate(_ALIKE).strip()
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    opened, closed = match["outer"] + match["open"], match["close"]
    signs = [s for s in (match["sign"], match["inner"], match["minus"], opened) if s]
    if len(opened) != len(closed) or len(signs) > 1:
        return None
    digits = match["digits"].strip().rstrip("-")  # 12.- and 12,-- have no fraction
    if match["exponent"] != "" and ("." in digits or "," in digits):
        digits += "0000"  # a decimal mark alone: no groups stand before an exponent
    if "+" in signs and " " in digits:  # a telephone number
        return None
    tail, currency = match["behind"].strip(), match["before"].strip().rstrip(".")
    if currency == "" and tail != "":
        tail, currency = _without_currency(tail)
    if any(sign in _CURRENCIES or unicodedata.numeric(sign, 0) % 1 != 0 for sign in tail):
        return None  # 10½ is not 10
    negative = len(signs) > 0 and "+" not in signs
    power = int(match["exponent"][1:] or 0) if match["exponent"] != "" else 0
    bound = match["bound"].replace("<=", "≤").replace(">=", "≥")
    sign = -1 if negative else 1
    return Parts(sign, bound, currency, digits, power, tail, match["gap"] == "")


def _without_currency(tail: str) -> tuple[str, str]:
    """Return a tail without the currency that it ends with, and that currency."""
    if tail[-1] in _CURRENCIES:
        return tail[:-1].strip(), tail[-1]
    *rest, last = tail.split(" ")
    return (" ".join(rest), last.rstrip(".")) if last.rstrip(".") in _CODES else (tail, "")


@dataclass(frozen=True)
class Amount:
    """The value of a cell, whether it is a bound, and its flag.

    Attributes
    ----------
    value : float
        NaN where it is no amount of the column.
    bounded : bool
        Whether it is a bound, such as <5 or 90+.
    flag : str
        What stands behind it and varies; empty for nothing.
    """

    value: float
    bounded: bool = False
    flag: str = ""


NO_AMOUNT = Amount(math.nan)


@dataclass(frozen=True)
class Notation:
    """The notation of a column of amounts, as its public cells show it.

    Attributes
    ----------
    decimal : str
        "." or ",".
    currency : str or None
        In front of amounts or behind them; an amount may lack it. None is any.
    powers : mapping
        From a tail to the power of ten that it multiplies by.
    factors : mapping
        From a tail to its factor, as of units that are converted, or as declared.
    tails : frozenset of str
        Those that mean nothing, "" among them where an amount may have none.
    flags : tuple of str
        Tails that are distinguished.
    plus : bool
        Whether a + behind a number means that the number is a bound.
    unit : str
        Into which mixed units are converted; empty where there are none.
    questions : tuple of tuple of str
        Tails of which only the user can say what they mean.
    """

    decimal: str
    currency: str | None
    powers: Mapping[str, int]
    factors: Mapping[str, float]
    tails: frozenset[str]
    flags: tuple[str, ...]
    plus: bool
    unit: str
    questions: tuple[tuple[str, ...], ...]

    def read(self, text: str) -> Amount:
        """Return what a cell says; of one that is no amount the value is NaN."""
        parts = parts_of(text)
        if parts is None or (
            self.currency is not None and parts.currency not in ("", self.currency)
        ):
            return NO_AMOUNT
        tail, bounded = parts.tail, parts.bound != ""
        if tail == "+" and self.plus:
            tail, bounded = "", True
        known = tail in self.flags or tail in self.powers or tail in self.factors
        if not known and one_word(tail) not in self.tails:
            return NO_AMOUNT
        value = parts.value(self.decimal, self.powers.get(tail, 0)) * self.factors.get(tail, 1.0)
        return Amount(value, bounded, tail if tail in self.flags else "")

    def remarks(self) -> list[str]:
        """Return in words what its marks and words mean."""
        by_power: dict[int, list[str]] = {}
        for tail, power in self.powers.items():
            by_power.setdefault(power, []).append(tail)
        remarks = [
            f"{', '.join(tails)} means {_KNOWN['powers'][str(power)]['called']}"
            for power, tails in by_power.items()
        ]
        if self.unit != "":
            remarks.append(f"units are converted to {self.unit}")
        if len(self.flags) > 0:
            remarks.append(f"what stands behind numbers ({', '.join(self.flags)}) has columns")
        return remarks


def one_word(tail: str) -> str:
    """Return a word without what its plural adds, and without a point."""
    word = tail.rstrip(".").lower()
    return word.removesuffix("s") if len(word) > 3 else word


UNITS = frozenset(map(one_word, chain(_KNOWN["asked"].split(), *_KNOWN["units"].values())))
"""Words that are units, as :func:`one_word` has them."""


def is_unit(word: str) -> bool:
    """Tell whether a word is a unit or a currency."""
    return one_word(word.replace(" ", "")) in UNITS or word in {*_CODES, *_CURRENCIES}


def notation_of(
    texts: Mapping[str, int],
    decimal: str,
    mark: str | None = None,
    declared: Mapping[str, float] | None = None,
) -> Notation:
    """Return how the amounts of a column are written.

    Parameters
    ----------
    texts : mapping
        From a public cell's text to how many cells have it.
    decimal : str
        The table's decimal mark: it decides where cells can be read with either.
    mark : str, optional
        The column's decimal mark, if declared.
    declared : mapping, optional
        From a tail to its factor, as the user says.
    """
    amounts = [(parts, n) for text, n in texts.items() if (parts := parts_of(text)) is not None]
    if mark is None:  # that with which most cells are numbers; the table's one among equals
        marks = (decimal, "," if decimal == "." else ".")
        mark = max(marks, key=lambda each: sum(n for parts, n in amounts if parts.fits(each)))
    amounts = [(parts, n) for parts, n in amounts if parts.fits(mark)]
    currencies, tails = Counter[str](), Counter[str]()
    for parts, n in amounts:
        tails[parts.tail] += n
        if parts.currency != "":
            currencies[parts.currency] += n
    cells = tails.total()
    currency = _most_frequent(currencies) if len(texts) > 0 else None
    stated = dict(declared or {})
    left = {tail: n for tail, n in tails.items() if tail not in stated and tail != ""}
    plus = 0 < left.get("+", 0) < cells or not left
    if plus:
        left.pop("+", None)
    asked = _asked(left, all_alike=len(tails) == 1)
    for tail in {tail for alike in asked for tail in alike}:
        left.pop(tail)
    unit, factors = _units(left)
    for tail in factors:
        left.pop(tail, None)
    powers = _powers(left, [parts for parts, _ in amounts])
    for tail in powers:
        left.pop(tail)
    flags = _flags(left, cells, {p.tail for p, _ in amounts if p.attached}) if not powers else ()
    for tail in flags:
        left.pop(tail)
    factors = {**factors, **stated}
    words = Counter[str]()
    for tail, n in left.items():
        words[one_word(tail)] += n
    word = _most_frequent(words)
    bare = tails[""] + (tails["+"] if plus else 0) + sum(tails[t] for t in (*powers, *flags))
    plain = unit == "" and (word == "" or bare > words[word])
    powers = powers if plain else {}  # 39 K beside 36 °C is no 39,000
    allowed = {""} if plain else {word} - {""}
    return Notation(mark, currency, powers, factors, frozenset(allowed), flags, plus, unit, asked)


def doubted(texts: Mapping[str, int], decimal: str, *, sure: bool) -> str | None:
    """Return a cell such as 1,234, if no other shows whether it has a fraction; None for none.

    A cell that is a number with one mark alone shows that mark. Three digits behind it are a
    fraction where another cell shows three or more, or where the mark is the table's and either
    most fractions have three or it is a point, as programs write. Where no cell of the column shows
    a mark, those of the table count, but three digits are no fraction beside whole numbers.

    Parameters
    ----------
    texts : mapping
        From a cell's text to how many cells have it.
    decimal : str
        The table's decimal mark.
    sure : bool
        Whether a cell of the table shows it.
    """
    candidates = {text: p for text in texts if _THREE.search(text) and (p := parts_of(text))}
    unsure = sorted(text for text, p in candidates.items() if abs(p.value(".") - p.value(",")) > 0)
    if len(unsure) == 0:
        return None
    parts = {text: p for text in texts if not text.isdecimal() and (p := parts_of(text))}
    shown = Counter[str | None]()
    for text, p in parts.items():
        shown[p.shown] += texts[text]
    mark = max((decimal, *".,"), key=shown.__getitem__)
    three = [text for text in unsure if mark in parts[text].digits]
    if shown[mark] == 0:
        fractions, groups = sure and not any(map(str.isdecimal, texts)), sure
    else:
        behind = [len(p.digits.partition(mark)[2]) for p in parts.values() if p.shown == mark]
        usual = mark == "." or sum(map(texts.__getitem__, three)) >= shown[mark]
        fractions = max(behind) >= 3 or (mark == decimal and usual)
        groups = shown["."] == 0 or shown[","] == 0
    return next((text for text in unsure if not (fractions if text in three else groups)), None)


def _asked(left: Mapping[str, int], all_alike: bool) -> tuple[tuple[str, ...], ...]:
    """Return tails that only the user can explain: DR and CR, M beside MM, north and south."""
    sides = tuple(sorted(tail for tail in left if tail.rstrip(".").upper() in ("DR", "CR")))
    pairs = [tuple(sorted({*pair} & left.keys())) for pair in _KNOWN["pairs"]]
    questions = (sides if not all_alike else (), *(pair for pair in pairs if len(pair) > 1))
    return tuple(tails for tails in questions if len(tails) > 0)


def _powers(left: Mapping[str, int], found: Sequence[Parts]) -> dict[str, int]:
    """Return the tails that multiply, and by which power of ten."""
    attached = {parts.tail for parts in found if parts.attached}
    powers = {}
    for tail in left:
        word = tail.rstrip(".").lower()
        if word in _MULTIPLIERS:
            powers[tail] = _MULTIPLIERS[word]
        elif tail in _LETTERS and (tail in attached or len(left.keys() & _LETTERS.keys()) > 1):
            powers[tail] = _LETTERS[tail]
    if len(powers) > 0:
        powers |= {tail: _SMALL[tail] for tail in left if tail in _SMALL and tail in attached}
    return powers


def _units(left: Mapping[str, int]) -> tuple[str, dict[str, float]]:
    """Return the largest of several units of one dimension, and the size of each in it."""
    names = {tail: tail if len(tail) == 1 else tail.lower() for tail in left}
    for units in _KNOWN["units"].values():
        met = {tail: units[name] for tail, name in names.items() if name in units}
        if len({*met.values()}) > 1 and len(met) == len(left):
            largest = max(met, key=met.__getitem__)
            return largest, {tail: s / met[largest] for tail, s in {**units, **met}.items()}
    return "", {}


def _flags(left: Mapping[str, int], cells: int, attached: Collection[str]) -> tuple[str, ...]:
    """Return tails that vary and mean something of their own, such as H and L, or stars."""
    letters = {t for t in left if _FLAG.fullmatch(t) and (len(t) == 1 or one_word(t) not in UNITS)}
    flags = [t for t in left if _SIGN.fullmatch(t) or t in letters - {*attached}]
    varies = len(left) > 1 or sum(left.values()) < cells
    every = len(flags) == len(left) <= MOST_FLAGS
    return tuple(sorted(flags)) if len(flags) > 0 and every and varies else ()


def _most_frequent(counts: Counter[str]) -> str:
    """Return what is met most often, of equals the first by alphabet; empty for nothing."""
    return min(counts, key=lambda each: (-counts[each], each), default="")
