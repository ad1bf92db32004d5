"""The catalogue as a whole: what it lists, and a law by its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from compsparse.checks import check_choice, check_known, check_text
from compsparse.tasks.catalogue.entry import HALVES, Half, TextbookLaw
from compsparse.tasks.task import Task


def formulas(*, field: str | None = None, half: Half | None = None) -> tuple[TextbookLaw, ...]:
    """The laws of the catalogue, of one field or of one half if that is asked for.

    Args:
        field: such as ``mechanics`` or ``finance``; None takes all.
        half: ``tuned`` or ``unseen``, as a hash of the name has it; None takes both.

    >>> len(formulas()) >= 110
    True
    >>> [law.name for law in formulas(field="quanta", half="tuned")][:2]
    ['compton-scattering', 'resonance-of-breit-and-wigner']
    """
    laws = _catalogue().values()
    if field is not None:
        check_choice("field", field, list(dict.fromkeys(law.field for law in laws)))
    if half is not None:
        check_choice("half", half, HALVES)
    return tuple(law for law in laws if field in (None, law.field) and half in (None, law.half))


def formula(name: str, noise: float = 0.0) -> Task:
    """A law of the catalogue as a task that can be sampled.

    Args:
        noise: standard deviation of Gaussian noise, as a share of the clean target's.

    >>> task = formula("refraction", noise=0.05)
    >>> task.graph.inputs
    ('n1', 'theta', 'n2')
    """
    known = _catalogue()
    return known[check_known(check_text("name", name), known, "there is no formula")].task(noise)


@cache
def _catalogue() -> Mapping[str, TextbookLaw]:
    """All laws by name; read on first use, because so many formulas take a moment to parse."""
    from compsparse.tasks.catalogue.astronomy import ASTRONOMY
    from compsparse.tasks.catalogue.biology import BIOLOGY
    from compsparse.tasks.catalogue.chemistry import CHEMISTRY
    from compsparse.tasks.catalogue.earth import EARTH
    from compsparse.tasks.catalogue.electromagnetism import ELECTROMAGNETISM
    from compsparse.tasks.catalogue.finance import FINANCE
    from compsparse.tasks.catalogue.fluids import FLUIDS
    from compsparse.tasks.catalogue.mechanics import MECHANICS
    from compsparse.tasks.catalogue.medicine import MEDICINE
    from compsparse.tasks.catalogue.quanta import QUANTA
    from compsparse.tasks.catalogue.structures import STRUCTURES
    from compsparse.tasks.catalogue.systems import SYSTEMS
    from compsparse.tasks.catalogue.thermodynamics import THERMODYNAMICS
    from compsparse.tasks.catalogue.waves import WAVES

    physics = (*MECHANICS, *ASTRONOMY, *ELECTROMAGNETISM, *WAVES, *THERMODYNAMICS, *FLUIDS, *QUANTA)
    elsewhere = (*STRUCTURES, *SYSTEMS, *CHEMISTRY, *BIOLOGY, *MEDICINE, *EARTH, *FINANCE)
    return {law.name: law for law in (*physics, *elsewhere)}
