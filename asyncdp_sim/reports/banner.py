"""The statement of a page on privacy."""

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
    """Return the privacy label of these results on a page, with at least the label's content."""
    page_label: Label = label(manifests)
    why = [reason for said in manifests for reason in (*reasons(said), *timing_reasons(said))]
    kept = page_label.private is True  # which it is not where timing is not accounted
    tone = "broken" if not kept else "withheld" if page_label.not_for_release else "kept"
    return Banner(page_label.text, tone, tuple(dict.fromkeys(why)))
