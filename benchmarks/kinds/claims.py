"""Claims and checks, each a run of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from compsparse.claims import get_claim, run_claim
from compsparse.progress import Progress
from compsparse.sweeps import Spec


@dataclass(frozen=True)
class ClaimRun(Spec):
    """The verdict on one claim; experiments choose their device themselves."""

    kind: ClassVar[str] = "claims"

    claim: str
    profile: Literal["quick", "full"]

    def measure(self, *, device: str | None, progress: Progress) -> Mapping[str, Any]:
        return run_claim(get_claim(self.claim), self.profile, progress).to_dict()


KINDS = [ClaimRun]
