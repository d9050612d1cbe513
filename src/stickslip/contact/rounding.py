"""Numbers that follow from the 53 bits of a number, EPS = 2^-52.  All but that of rows with bounds were not measured.

A regularisation alpha leaves a part alpha of an error with each step, alpha^k after k steps.  Rounding moves redundant
impulses by EPS / alpha.  Both are alike for

    alpha^k = EPS / alpha,      alpha = EPS^(1 / (k + 1)).

k is 1 for loops of joints, whose impulses follow from the others, 2 for free bodies, and 3 for contacts on trees of
joints, where loads of a grasp must stay where they are.  Rows with bounds take an eighth of alpha at k = 2: with all of
it steps of four-legged robots between their limits were left unsolved.
"""

ROOT = 2.0**-26  # sqrt(EPS): the next step of Newton's method comes to rounding; the start of an interior point
LOOP_ALPHA, ROW_ALPHA, FREE_ALPHA, TREE_ALPHA = 2.0**-26, 2.0**-20, 2.0**-17, 2.0**-13
TINY = 1e-300  # no square of a number in use: added where a quotient of zeros would be none
