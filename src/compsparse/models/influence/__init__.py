"""Which inputs and modules of a function matter, and which pairs act together."""

from compsparse.models.influence.entry import importances
from compsparse.models.influence.record import Importance, Importances, PairStrength

__all__ = ["Importance", "Importances", "PairStrength", "importances"]
