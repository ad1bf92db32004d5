"""The numbers by which a search in a table trains, decides and stops, each with its reason.

The sizes of t that are held against chance stand in :mod:`compsparse.discovery.structure.statistics`, what smooth fits
are believed in :mod:`compsparse.discovery.data.smooth.limits`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How hard candidates are trained: networks per fold, steps each."""

    replicas: int
    steps: int


# ---- what is asked ------------------------------------------------------------------------------

FEWEST_ROWS = 50
"""Rows below which five folds cannot tell structures apart."""
SEARCH_SHARE, LEAST_FIT_SECONDS, USUAL_FIT_SHARE = 0.5, 1.0, 0.3
"""Share of the time limit that the search may take where a model is fitted after it; what that gets at least; and the
share of it for the usual fit of the graph, before models are compared."""
MUCH_LEFT = 0.01
"""Share of the variance that a search leaves from which the usual fit, which suits laws with little noise, is left out
for models that are compared."""
USUAL_WIDTH, USUAL_EFFORT = 24, 1.0
"""Width of the nodes of the final model; factor of the steps of every trial."""
MOST_RESAMPLES = 1000
HEAVY_TAILS = 6.0
"""Fourth moment of a standardised target above which normal scores are searched in its place; a normal one has 3."""

# ---- very many columns --------------------------------------------------------------------------

MOST_SEARCHED, MOST_LOOKED_AT = 120, 40
"""Columns up to which all are searched, and how many of more are: those by which a forest explains most."""
MOST_ROWS_OF_FOREST, TREES, FOREST_SHARE = 5000, 16, 0.25
"""Rows and trees of that forest, and the share of the time after which no tree is added. Of 1,000 columns and 5,000
rows the eight of a random tree came first after three trees already, and a tree takes a second or two."""

# ---- trials -------------------------------------------------------------------------------------

FOLDS, TRIAL_BATCH, FEWEST_STEPS = 5, 128, 20
MOST_ROWS_OF_TRIALS = 16_000
"""Rows of a trial at most: of many more, differences of luck between two trainings pass for differences of structure.
An oscillating tree of eight inputs lost three of six modules to that at 100,000 rows, and none at 16,000."""
SOUND = 1.25
"""Training loss, relative to the best replica's, up to which a replica counts."""
DIVERGED_LOSS = 1e30
"""Stands for the loss of a fit that has no number."""
LARGEST_EVALUATION = 2_000_000
"""Numbers per layer above which held-out rows are evaluated in parts."""
MODULE_WIDTH, MODULE_DEPTH, TOP_WIDTH = 16, 2, 32
"""Network of a module below the candidates and of what a candidate combines by; width of the function on top."""

SCREENING = Effort(1, 150)
FIRST, FIRST_OF_FEW = Effort(2, 300), Effort(4, 300)
"""A first trial, and one of so few units that twice the networks are cheap."""
BY_VARIANCE = Effort(8, 300)
"""Where fits are mostly variance, more networks tell more than more steps."""
VERIFYING, LONG, VERY_LONG, LONGEST = Effort(2, 600), Effort(4, 1000), Effort(2, 3000), Effort(4, 3000)
LAST_WORD = Effort(8, 3000)

MOST_MERGES, MOST_SCREENED = 200, 1200
"""Candidates up to which a round tries them all at full length, and up to which it looks at them at all."""
FEW_UNITS = 5
MOST_IN_LONG_TRIAL, MOST_AT_LENGTH = 6, 4
"""Merges in a long trial; groupings inside a node that are fitted for the longest time, and places of an input."""
TRIED_FIRST, FEWEST_FIRST = 1 / 3, 10
"""Share of the pairs, and number of them at least, that a round tries first where a smooth fit says which are turned
least; the others follow where none of these is accepted."""

# ---- merging ------------------------------------------------------------------------------------

NEARLY_AS_GOOD = 1.5
"""Error relative to the base up to which a merge that lost may have lacked training, not truth."""
SLACK = 0.1
"""Loss, as a share of the base's error and of what the base explains, that is let pass after the longest trial: deep
compositions train slower than the free function, and a false merge costs more than a tenth."""
EXPLAINED_AT_LENGTH = 0.5
"""Share of the constant's error that the best candidate must explain for longer training to pay."""

# ---- inputs -------------------------------------------------------------------------------------

EXPLAINED_FOR_INERT, EXPLAINED_AMONG_FEW, FEW_INPUTS = 0.7, 0.97, 16
"""Share of the constant's error that must be explained before an input can be called inert, unless merging has ended;
the same where a smooth fit told structure from noise among few inputs, because a poorer fit is better without inputs
that are deep in a tree; of many inputs most do nothing."""
READMITTED, MUCH_HELPED = -3.5, 0.8
"""t of the tree with inputs that were left out at which they come back; half of it where all of them together lower
the error to this ratio."""
MOST_IN_BRANCH = 8
"""Inputs that were left out up to which they are offered through one number too: of more, most do nothing."""
MOST_MOVED, MOST_TRIED_ELSEWHERE = 4, 2
"""Inputs that a search takes out of a finished tree and puts elsewhere, and inputs that it tries for each."""

BINS, MISTAKEN, MOST_ROWS_OF_RESIDUALS = 8, 0.01, 20_000
"""Parts of an input's range by which residuals are compared, how often one of the inputs that do nothing may be looked
at more closely, and rows that are enough for it."""
SMALL_EFFECT = 0.01
"""Share of the target's spread: an input of which so much would have been seen is inert, of others no gain was seen."""

# ---- verification -------------------------------------------------------------------------------

LEAKED = 0.9
"""Ratio of errors of the tree in which a module's inputs also bypass it, below which the module may be false."""
CLEAR_OF_CAPACITY, HALVED = 0.03, 0.5
"""Share of the variance, and of what the tree leaves, below which a way around a module must come for the module to
go: otherwise larger networks would help as much."""
MOST_REPLACED = 3
"""Modules in whose place others are looked for; where more turn out false, inputs act in many places at once."""
MOST_LOSS, FAR_TOO_MUCH_LOSS = 1.15, 1.5
"""Ratio of errors up to which a sum or product counts as good as the nested fit, and beyond which a short trial ends
the question."""

# ---- the gate -----------------------------------------------------------------------------------

OUTER_SHARE, ROWS_TO_SPARE = 0.2, 2000
"""Share of the rows that choose no structure, and rows from which the search does without them; of fewer it needs all,
and the gate's rows have then helped to choose, though not by this fit."""
GATE_RESTARTS, GATE_STEPS, GATE_WIDTH, MOST_GATE_EPOCHS = 8, 2000, 64, 300
"""Networks, steps and width of the free fit (the nodes of a tree are half as wide), and how often it shows a row."""
REGRET = 0.002
"""Share of the variance from which a tree loses to the free fit."""
UNRESOLVED, SCATTERED = 0.001, 0.15
"""Share of the variance that a tree leaves, and part of it by which its networks differ from each other (noise is
not in it), beyond which inputs may act beside a module without being seen: its modules are approximate."""
CLEARLY_LESS = 0.2
"""What a tree leaves, relative to what a smooth fit leaves of fresh rows, below which it cannot lose to a free fit."""
MOST_RELAXATIONS = 3
"""How often modules may be given up before all of them go."""
MOST_LOSS_OF_SHARING = 0.15
"""Loss, as a share of the error and of what is explained, that a number shared by two outputs may cost."""
