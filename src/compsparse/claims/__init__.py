"""Statements of the theory that can be run and come back with a verdict."""

from compsparse.claims.claim import PROFILES, Claim, Finding, Outcome, Profile, Standing, Verdict
from compsparse.claims.page import claims_page
from compsparse.claims.registry import all_claims, get_claim
from compsparse.claims.running import UnreadableVerdicts, keep, kept, run_claim

__all__ = [
    "PROFILES",
    "Claim",
    "Finding",
    "Outcome",
    "Profile",
    "Standing",
    "UnreadableVerdicts",
    "Verdict",
    "all_claims",
    "claims_page",
    "get_claim",
    "keep",
    "kept",
    "run_claim",
]
