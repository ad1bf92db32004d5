"""Every number by which a search in data trains, decides or stops, with its reason.

A t is paired, over held-out rows: negative where the first of the two is better.
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
SEARCH_SHARE = 0.6
"""Share of the time limit that the search may take where a model is fitted after it."""
LEAST_FIT_SECONDS = 1.0
"""What the final fit gets when the search has used up its time."""
USUAL_WIDTH = 24
"""Width of the nodes of the final model."""
USUAL_EFFORT = 1.0
MOST_RESAMPLES = 1000
HEAVY_TAILS = 6.0
"""Fourth moment of a standardised target above which normal scores are searched in its place; a normal one has 3."""

# ---- trials -------------------------------------------------------------------------------------

FOLDS = 5
TRIAL_BATCH = 128
FEWEST_STEPS = 20
"""Steps of a trial however small the effort."""
SOUND = 1.25
"""Training loss, relative to the best replica's, up to which a replica counts."""
DIVERGED_LOSS = 1e30
"""Stands for the loss of a fit that has no number."""
LARGEST_EVALUATION = 2_000_000
"""Numbers per layer above which held-out rows are evaluated in parts."""
MODULE_WIDTH, MODULE_DEPTH = 16, 2
"""Network of a module below the candidates, and of the function that a candidate combines by."""
TOP_WIDTH = 32
"""Width of the function on top."""

# ---- lengths of trials --------------------------------------------------------------------------

SCREENING, SHORT, LONG, LONGEST = 150, 300, 1000, 3000
MOST_MERGES, MOST_SCREENED = 200, 1200
"""Candidates up to which a round tries them all at full length, and up to which it looks at them at all."""
FEW_REPLICAS, REPLICAS, MANY_REPLICAS = 2, 4, 8
"""Networks per fold: in a first trial, where the trial is small or long, and where variance decides."""
FEW_UNITS = 5
"""Units up to which a first trial is small enough for twice the replicas."""
MOST_IN_LONG_TRIAL = 6
MOST_AT_LENGTH = 4
"""Groupings inside a node that are fitted for the longest time, and places of an input for a long one; of more, the
best after a shorter one."""
TRIED_FIRST, FEWEST_FIRST = 1 / 3, 10
"""Share of the pairs, and number of them at least, that a round tries first where a smooth fit says which are turned
least; the others follow where none of these is accepted."""

# ---- merging ------------------------------------------------------------------------------------

PREDICTS = -3.0
"""t against the constant; without this gate noise grows a tree, because merging cuts variance."""
NOT_WORSE = 1.0
"""t against the base below which imposing a module does not hurt; a false one cannot express the function."""
BETTER = -3.0
"""t against the base by which the best candidate of a long trial may stand alone: equal rivals never tell apart."""
MUCH_WORSE = 6.0
"""t against the base beyond which no slack helps."""
TOLD_APART = 2.5
"""t against every rival that shares a variable; on sums every pair helps, and the first would be chance."""
NEARLY_APART = 1.5
"""The same inside a wide node, from which longer fits of the whole tree decide."""
FAR_WORSE, FAR_WORSE_T = 5.0, 1.5
"""Ratio of errors from which a rival is out at a smaller t: where few rows hold most of an error, t says little."""
NEARLY_AS_GOOD = 1.5
"""Error relative to the base up to which a merge that lost may have lacked training, not truth."""
SLACK = 0.1
"""Loss, as a share of the base's error and of what the base explains, that is let pass after the longest
trial: deep compositions train slower than the free function, and a false merge costs more than a tenth."""
EXPLAINED_AT_LENGTH = 0.5
"""Share of the constant's error that the best candidate must explain for longer training to pay."""
MERGES_LOGGED = 5

# ---- inert inputs -------------------------------------------------------------------------------

EXPLAINED_FOR_INERT, EXPLAINED_AMONG_FEW, FEW_INPUTS = 0.7, 0.97, 16
"""Share of the constant's error that must be explained before an input can be called inert, unless merging has ended;
the same where a smooth fit told structure from noise; and inputs up to which that is waited for: a poorer fit is better
without inputs that are deep in a tree (of ten trees of 16 at 0.7 nine lost up to seven), but among many inputs most
do nothing, and to drag twelve of them along took three times as long."""
MAY_BE_INERT, JOINTLY_INERT = 2.0, 1.0
"""t of the fit without an input, and without all that seem inert, below which their loss does not hurt."""
READMITTED, MUCH_HELPED = -3.5, 0.8
"""t of the tree with inputs that were left out at which they come back; half of it where all of them together lower
the error to this ratio."""
MOST_IN_BRANCH = 8
"""Inputs that were left out up to which they are offered through one number too: of more, most do nothing."""
MOST_MOVED, MOST_TRIED_ELSEWHERE = 4, 2
"""Inputs that a search takes out of a finished tree and puts elsewhere, and inputs that it tries for each: those that
may help there, at half the t of inputs that come back, because only a tree that is clearly better is kept."""

# ---- the audit ----------------------------------------------------------------------------------

VERIFYING, VERIFYING_RESOLVED = Effort(FEW_REPLICAS, 600), Effort(FEW_REPLICAS, SHORT)
"""Fits of trees that are compared with each other: where one leaves next to nothing, what is false shows soon."""
DOUBTFUL, DOUBTFUL_THOUGH_APART = -1.0, -2.0
"""t of the tree without a module, or with a way around it, below which the module gets a second look; and the same for
one that was clearly told apart from its rivals, when less of the tree was known."""
CLEARLY_APART = 4.0
"""t over all rivals at a module's acceptance beyond which its parent cannot be complete over its children."""
LEAKS, LEAKED = -3.0, 0.9
"""t, and ratio of errors, of the tree in which a module's inputs also bypass it at which the module is false."""
CLEAR_OF_CAPACITY, HALVED = 0.03, 0.5
"""Share of the variance, and of what the tree leaves, below which a way around a module must come for the module to go;
otherwise larger networks would help as much, and it stays, in doubt: oscillating trees, which leave 4 to 7%, lost true
modules to ratios of 0.6 to 0.85."""
IMPOSED_HURTS = 2.0
"""Standard errors by which a tree that was kept may do better without one of its modules; beyond, something is wrong
with it, and all of its modules are approximate."""
MOST_REPLACED = 3
"""Modules in whose place others are looked for; where more turn out false, inputs act in many places at once."""
AS_GOOD, MOST_LOSS = 2.0, 1.15
"""t and ratio of errors up to which a sum or product counts as good as the nested fit."""
HOPELESSLY_APART, HOPELESS = 4.0, 1.5
"""The same after a short trial, beyond which no long one is made."""

# ---- the gate -----------------------------------------------------------------------------------

OUTER_SHARE = 0.2
"""Share of the rows that choose no structure; the final fit chooses among its restarts by the same rows."""
ROWS_TO_SPARE = 2000
"""Rows from which the search does without the outer ones; of fewer it needs all, and the gate's rows have then
helped to choose, though not by this fit."""
GATE_RESTARTS, GATE_STEPS, GATE_WIDTH = 8, 2000, 64
"""Networks, steps and width of the free fit; the nodes of a tree are half as wide."""
MOST_GATE_EPOCHS = 300
"""Times that the gate shows a row to a network, at most: a few hundred rows need fewer steps."""
REGRET, LOSES = 0.002, 2.0
"""Share of the variance, and t on the outer rows, from which a tree loses to the free fit."""
UNRESOLVED, SCATTERED = 0.001, 0.15
"""Share of the variance that a tree leaves, and part of it by which its networks differ from each other (noise is
not in it), beyond which inputs may act beside a module without being seen: its modules are approximate."""
CLEARLY_LESS = 0.2
"""What a tree leaves, relative to what a smooth fit leaves of fresh rows, below which it cannot lose to a free fit."""
MOST_RELAXATIONS = 3
"""How often modules may be given up before all of them go."""

# ---- several outputs ----------------------------------------------------------------------------

SHARING = Effort(REPLICAS, LONG)
MOST_LOSS_OF_SHARING = 0.15
"""Loss, as a share of the error and of what is explained, that a shared number may cost."""
