"""Every number by which a search by queries decides, measures or stops, with its reason."""

# ---- asking -------------------------------------------------------------------------------------

FIRST_CALL, LARGEST_CALL = 256, 16_384
"""Rows of the first call, and of any; between them calls grow with the callable's speed."""
SECONDS_PER_CALL = 0.5
"""How long a call may take, so that the clock is read in time."""
BUDGET, BUDGET_IN_NOISE = 100_000, 400_000
"""Evaluations that suffice for most functions of up to eight inputs; easy ones stop far below."""
INPUTS_OF_BUDGET = 8
"""Beyond so many inputs the budget grows with their square, as the number of pairs does."""
FINEST_SHARE = 1e-6
"""Share of the bounds' distance that floats must still resolve at their ends: steps may be as short."""

# ---- first answers ------------------------------------------------------------------------------

SAMPLED, REPEATED = 48, 16
"""Points of the first sample, and how many of them are asked twice."""
NOISE_POINTS = 256
"""Points that are asked twice to know the noise to a few percent."""
ROUNDING_SHARE = 1e-7
"""Share of the spread below which answers that do not repeat are rounding, which the step's calibration measures."""
FAINTEST_NOISE = 1e-6
"""Share of the spread taken for the noise of an output that is exact beside one that is not."""

# ---- gradients ----------------------------------------------------------------------------------

COMPARED_POINTS = 6
"""Points at which autograd is compared with differences."""
AUTOGRAD_MAY_DIFFER, AUTOGRAD_ROUNDING, AUTOGRAD_OF_LARGEST = 0.02, 100.0, 1e-4
"""How far: a share of the difference, so many roundings, and a share of the largest difference."""
ROUNDINGS_OF_GRADIENT = 8.0
"""Roundings behind a partial derivative by autograd, or behind a value."""
CANCELLED_SHARE = 0.01
"""Share of a partial derivative's usual size that counts towards its rounding, where large terms cancel."""
KINKED = 20.0
"""Bend, in units of what curvature or rounding make, from which a stencil is taken to hold a kink."""
NULL_POINTS_OF_AUTOGRAD, NULL_POINTS_OF_DIFFERENCES = 16, 8
"""Points at which turns are measured where there is none."""

# ---- steps of differences -----------------------------------------------------------------------

STEP_POINTS, STEP_POINTS_IN_NOISE = 5, 24
"""Points by which steps are chosen."""
LONG_STEPS, ROUNDED_STEPS, LONG_STEPS_IN_NOISE = (2e-2, 1e-2), (2e-6, 1e-6), (0.12, 0.06)
"""Pairs of steps that show truncation, round-off, and truncation in noise."""
SHORTEST_STEP, SHORTEST_STEP_IN_NOISE = 1e-8, 1e-6
LONGEST_STEP, LONGEST_STEP_IN_NOISE = 2e-2, 0.1
LEAST_SLOPE = 1e-3
"""Share of an output's spread below which no slope is taken to lie when steps are balanced."""
BELOW_BALANCE = 8.0
"""Round-off is alike everywhere and easily told from a turn, truncation is not: stay well below the balance."""
BELOW_BALANCE_IN_NOISE, AFFORDABLE_ERROR = 1.5, 0.02
"""Noise has less room, unless it is faint: then errors may grow to this share of the slopes."""
BELOW_WORST = 2.0
"""The steepest points are close to the worst, so the margin to the balance may be small."""

# ---- swaps --------------------------------------------------------------------------------------

SWAPPED_TOGETHER = 4
"""Inputs of one factorial block: 15 new points with 32 swaps."""
NEAR_THE_END = 0.1
"""Share of an input's range, at its far end, from which its other value is drawn."""
MOST_PER_SWAP = 25.0
"""Product of two readings above which a swap in noise counts no more: one place of high curvature must not decide."""
UNCONFIRMED_SHARE = 0.01
"""Share of a score that stands if it was seen once: kinks may show once and then plainly."""

# ---- thresholds ---------------------------------------------------------------------------------

LEAST_NULL_SCORE, ABOVE_NULL_TURN = 6.0, 3.0
"""No null score is expected above the first, nor above so many times what was seen without a turn."""
ACTIVE_SCORE = 30.0
"""Effect of an input, in units of its error, from which the input is seen to act."""
WEAK_SHARE = 1e-2
"""Share of the strongest input's usual slope from which no input is too weak for a place in the graph."""
ASLEEP = 3.0
"""Effect, over the usual slope that a place needs, from which an input has one: it slept where slopes were taken."""
CLEAR_GAP, CLEAR_GAP_IN_NOISE = 10.0, 1.5
"""Ratio of true to null scores at which the search may stop."""
ABOVE_LARGEST_NORMAL = 1.5
"""Room above the largest of so many normal scores, for the many looks at them."""
THIN_GAP = 10.0
"""Ratio below which a gap in exact answers is called thin."""

# ---- the search ---------------------------------------------------------------------------------

FIRST_SWAPS, FEWEST_UNITS, UNITS_GROWTH = 32, 4, 1.5
"""Swaps of every input in the first round, the units it takes at least, and how rounds grow."""
TURN = 0.05
"""Radians: a turn that must not be missed."""
SLOPE_TOLD_FROM_ZERO = 3.0
"""Root mean square of a partial derivative, in units of its error, from which an input has a slope."""
LIVELY_TRIED = 4
"""Points of which the one with the largest slope is kept."""
COMPANIONS = 3
"""Inputs in doubt whose swaps share the points of another's."""
RARE_PAIRS, RARE_FOLLOWED = 256, 8
"""Pairs of points that differ in all inputs that seem inert, and how many of those that changed are looked into."""
RESAMPLES_OF_UNITS = 20

# ---- channels -----------------------------------------------------------------------------------

CHILDREN_OF_BUNDLES = range(5, 17)
"""Children of a prime node among which bundles are looked for: enough to save wires, few enough to try."""
BUNDLE_BASES, BUNDLE_VALUES = 4, 5
"""Base points, and values of each child around one."""
CLEARLY_SPANNED = 10.0
"""Singular value of the last channel over the threshold from which it is surely there."""

# ---- sums under a link --------------------------------------------------------------------------

SWAPS_FOR_LINK, FRESH_SHEETS = 48, 2
"""Swaps of every input by which a link is fitted, and sheets that took no part in it and judge it."""

# ---- groups of inputs -----------------------------------------------------------------------------

MOVES_OF_GROUPS = 40
"""Moves that change inputs and no group, by which groups are confirmed."""
CONFIRMED = 1e-3
"""Change along such moves, as a share of the usual one, up to which the function stays the same: rounded exponents are
exact, weights of sums are known to a few digits."""
STANDS_STILL = 1e-9
"""Way along an input, of a direction of length one, that is rounding."""
