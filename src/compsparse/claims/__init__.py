"""Statements of the theory that can be run and come back with a verdict."""

from compsparse.claims.claim import PROFILES, Claim, Finding, Outcome, Premise, Profile, Standing, Verdict
from compsparse.claims.declared import Bar, Measured, judge_measured
from compsparse.claims.known import KnownVerdict, known_verdicts
from compsparse.claims.page import claims_page
from compsparse.claims.registry import all_claims, get_claim
from compsparse.claims.rules import (
    Interval,
    StatedExponent,
    all_of,
    geometric_interval,
    judge_at_least,
    judge_at_most,
    judge_equal,
    judge_exponent,
    judge_law,
    judge_within,
    mean_interval,
    share_interval,
)
from compsparse.claims.running import UnreadableVerdicts, keep, kept, run_claim
from compsparse.claims.statements import STATES, DocumentStatement, all_statements

__all__ = [
    "PROFILES",
    "STATES",
    "Bar",
    "Claim",
    "DocumentStatement",
    "Finding",
    "Interval",
    "KnownVerdict",
    "Measured",
    "Outcome",
    "Premise",
    "Profile",
    "Standing",
    "StatedExponent",
    "UnreadableVerdicts",
    "Verdict",
    "all_claims",
    "all_of",
    "all_statements",
    "claims_page",
    "geometric_interval",
    "get_claim",
    "judge_at_least",
    "judge_at_most",
    "judge_equal",
    "judge_exponent",
    "judge_law",
    "judge_measured",
    "judge_within",
    "keep",
    "kept",
    "known_verdicts",
    "mean_interval",
    "run_claim",
    "share_interval",
]
