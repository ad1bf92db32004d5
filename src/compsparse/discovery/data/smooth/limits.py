"""Every number by which smooth fits are made, asked and believed, with its reason."""

import math

# ---- the kernel ---------------------------------------------------------------------------------

ROWS_FOR_KERNEL, STEPS_FOR_KERNEL = 400, 60
"""Rows by which lengths and weights are chosen, and the steps that takes."""
SETTLED = 1e-7
"""Relative gain of a step at which the evidence has settled: rounding hides less."""
MORE_ROWS_FOR_KERNEL = 1000
"""The same where many columns hide what the first rows say: of a hundred, 400 rows find none of eight that act."""
FIRST_LENGTH, FIRST_WEIGHT, FIRST_WEIGHTS = math.log(2.0), math.log(4.0), 64.0
"""Length and weight at the start, and what all weights of a table may sum up to there: under a product of a hundred
full factors no two rows are alike, the evidence is flat, and its climb ends where all is noise."""
FIRST_NOISE, MUCH_NOISE, LEAST_NOISE = 1e-3, 0.3, 1e-10
"""Noise at the start, at another start where fits are poor, and what is always added: less is lost in rounding."""
LENGTHS, WEIGHTS, LEVELS, NOISES = (-2.5, 6.0), (-5.0, 6.0), (-4.0, 14.0), (-25.0, 1.0)
"""Limits of the logarithms."""
STIFFNESS = 0.01
"""Pull of lengths and weights towards their start, so that what the rows do not tell stays finite."""
FREQUENCIES = 1024
"""Cosines of a draw from the prior."""

# ---- noise -------------------------------------------------------------------------------------

HEIGHTS, ROWS_A_HEIGHT, LEAST_LEVEL = 12, 20, 1e-4
"""Groups of rows of like height whose noise is compared, how many rows each has at least, and the least of their
noise, relative to the mean, that is told apart."""
MOST_LEFT = 0.07
"""Share of the variance up to which what a fit leaves may be noise: structure that is not explained looks uneven too,
and a fit that counted the rows most where it does well left a tenth of what it should, with a false module."""
LIKELIER = 2.0
"""t of the densities of fresh rows from which noise depends on the height."""

# ---- the rows -----------------------------------------------------------------------------------

MOST_ROWS = 3200
"""Rows of a fit; more cost the cube of their number and tell little more of slopes."""
MOST_OUTER_ROWS = 800
"""Rows that choose nothing: they judge fits, and give every module a figure of its own."""
FINEST = 2.0**36
"""Parts of a standard deviation that are told apart; rounding in another unit is far below."""
FEWEST_LEVELS = 8
"""Different values of a column below which its slope means little."""
MOST_COLUMNS, MOST_ACTIVE = 120, 24
"""Columns up to which lengths are fitted, and inputs up to which every triple is asked about."""

# ---- asking -------------------------------------------------------------------------------------

POINTS = 100
"""Rows at which slopes are compared before and after swaps."""
TREND_POINTS = 1000
"""The same for the trend of a module that was found, where all inputs outside are swapped at once: false ones of 4.3
and 3.6 by single swaps at a hundred points have 6.5 and 4.4, true ones of 5.0 to 6.7 have 0.4 to 4.4."""
DRAWS = 24
"""Draws from the posterior, by which errors of slopes are known to a fifth."""
POINTS_OF_GROUPS, SMALL_STEP = 200, 0.05
"""Rows whose slopes tell groups, and the step by which the slope of a map is taken."""
PARTS_OF_BUNDLES = range(5, 13)
"""Children of a prime node among which modules of several channels are looked for: enough to save wires, few enough to
ask about every four."""
LEAST_INFLATION = 0.3
"""Errors on fresh rows may turn out smaller than the draws say; slopes are not trusted to follow further."""

# ---- believing ----------------------------------------------------------------------------------

EXPLAINED = 0.97
"""Share of the variance of fresh rows that a fit must explain to be asked about structure: below, turns drown."""
MANY_COLUMNS, EXPLAINED_FOR_EFFECTS = 24, 0.5
"""Columns beyond which a poorer fit is asked too which of them the search may begin without, and how much it must
explain: what it leaves out is offered again at the end."""
LEVELLED_OFF = 1.1
"""Error with half of the rows, relative to all, below which more rows would not help: the fit may be asked about
effects too, because what it leaves is noise. Tables of noise were seen at 0.94 to 1.1, deep trees from 1.08 up; many
fresh rows tell those apart, so that they must not tell half of the rows from all either."""
NEARLY_LEVELLED_OFF = 1.2
"""The same below which what a fit of :data:`MOST_LEFT` leaves is mostly noise: 1.0 to 1.1 with 20% noise, 1.47 and more
on deep trees."""
EXPLAINED_FOR_PAIRS = 0.7
"""The same to be asked which pairs to try first: true ones are among those that are turned least."""
TURNED_BY_CHANCE, TURNED_BY_BIAS = 2.0, 4.0
"""Sizes of turns, in standard errors, that occur where there is none: where errors are mostly noise, and where
fits are so good that what is left is their bias. Tuned on the catalogue's tuned half."""
MOSTLY_NOISE, MOSTLY_BIAS = 1e-3, 1e-5
"""Unexplained variance at which the one and the other holds; between them the logarithm decides."""
DOUBT = 1.5
"""Thresholds up to so many times higher are as good: a module that one of them does without is approximate."""
NEARLY_TURNED = 0.7
"""Turns beyond this share of the threshold are near it: the module is approximate too."""
HAS_TREND, SURE_TREND = 4.0, 8.0
"""Trend of the turns of a module, in standard errors, from which it is approximate, and of a pair by one input, from
which it is none. True pairs of the tuned half were seen up to 6.7; false ones that are true up to a thousandth of a
radian at 4 to 50."""
TREND_BELIEVED = 1e-4
"""Unexplained variance up to which a trend refutes: the errors of a poorer fit have trends of their own, which refuted
a true module of a deep tree. Up to a thousandth it marks: of 51 true modules of noisy laws the largest was at 2.8."""
SURELY_SPANNED, WELL_SPANNED = 10.0, 30.0
"""Volume of the channels of a module, in units of the threshold, from which they are surely there, and below which the
module is approximate: a further channel of a tenth, and of a thirtieth, of the last one would not be seen."""
THRESHOLDS = 15
VISIBLE, VISIBLE_OF_WEAK = 0.3, 0.15
"""Share of the largest turn that an input could make, from which a turn must be one that would have been seen: for a
module to be sure, for an input to have a place in the tree and for a node to be called a sum or product; and for pairs
with a weak input."""
WEAK = 0.1
"""Share of the strongest input's effect below which an input is weak: only such an input may lack a place."""
WEAKER_TURNS = 2
"""Power of its strength, relative to a pair's, with which the largest turn that an input could make falls: where
strengths differ by decades, weak inputs act together with strong ones through terms that are weaker still."""
NO_EFFECT, SURELY_NO_EFFECT = 2.5, 1.2
"""Size of an effect, in standard errors, below which an input may be inert; and below which those are looked for that
are left out where that was too many."""
ACTS = 2.2
"""The same from which an input acts beyond doubt: those that do nothing were seen up to 0.8, and up to 2.0 where they
are copies of others with a correlation of 0.98."""
FEWEST_OUTER_ROWS = 40
"""Rows that choose nothing below which they give no figure."""
MOST_ROWS_TO_RESAMPLE, RESAMPLES, RESAMPLED_SHARE = 2000, 8, 0.8
"""Rows up to which modules are looked for again on parts of them without being asked to, how often, and how large."""
TIME_TO_RESAMPLE = 0.5
"""Share of the time that is left which this may take: what was found still has to pass the gate."""
