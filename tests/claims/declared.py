"""What the declaration of a claim says of made-up measurements."""

from collections.abc import Mapping
from typing import Any

from compsparse.claims import Measured, Outcome, get_claim, judge_measured


def outcome_of(name: str, values: Mapping[str, Any]) -> Outcome:
    """By the rules and premises of that claim."""
    claim = get_claim(name)
    return judge_measured(Measured(values), claim.rules, claim.premises).outcome
