"""Privacy of a page: the label's own words, its reasons in full, and what else must be known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.privacy.label import Label, label, reasons, timing_reasons


@dataclass(frozen=True)
class Banner:
    """The head of the page: its statement on privacy.

    Attributes
    ----------
    text : str
        The label of all results that the page shows, word by word.
    tone : str
        "broken" where any is not private as claimed, not shown to be, or its timing is not
        accounted; "withheld" where all are, and private records were read; "kept" else.
    reasons : tuple of str
        Why, in full.
    """

    text: str
    tone: str
    reasons: tuple[str, ...]


def banner(manifests: Sequence[Mapping[str, Any]]) -> Banner:
    """Return what a page says of the privacy of these results, never less than their label."""
    said: Label = label(manifests)
    why = [reason for each in manifests for reason in (*reasons(each), *timing_reasons(each))]
    kept = said.private is True  # which it is not where timing is not accounted
    tone = "broken" if not kept else "withheld" if said.not_for_release else "kept"
    return Banner(said.text, tone, tuple(dict.fromkeys(why)))
