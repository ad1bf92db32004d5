"""Claims and the machinery that runs them."""

from compsparse.lab.claim import Claim, Finding, Outcome, Verdict
from compsparse.lab.page import claims_page
from compsparse.lab.registry import all_claims, get_claim
from compsparse.lab.runner import keep, kept, run_claim

__all__ = [
    "Claim",
    "Finding",
    "Outcome",
    "Verdict",
    "all_claims",
    "claims_page",
    "get_claim",
    "keep",
    "kept",
    "run_claim",
]
