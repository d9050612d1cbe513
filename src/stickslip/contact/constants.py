"""Every number of `solve_friction` that was chosen by measuring, with the measurement that set it.

Problems: the 23 files written by other programs; `bench.random_friction` in six classes, planar and spatial.  "Hard":
the 33 of 248 problems with masses 1e6 apart (10 to 300 contacts) that the ladder without the present interior point had
not solved to 1e-7 in 0.3 s.  Costs are nominal seconds, see `effort`.  "Not varied": set when the
method was written, and left.
"""

# Work (`effort`, `method`).
AT_ONCE = 0.03  # seconds of work between two looks at the clock: 10 % of a limit of 0.3 s
DENSE_LIMIT, DENSE_SHARE = 150, 0.2  # dense LU is faster up to 150 unknowns, or where a fifth of the entries are there
# Least pivot on the diagonal beside the largest in its column.  Interior point, balls, masses 1e6 apart, three problems
# of 1,000 contacts: 0.1 13.2 7.9 3.5 s, 1e-3 5.4 5.6 2.1 s, 0 4.9 5.1 2.2 s, same steps.  W + 1e-6 1 of 5,000 contacts
# is factorised in 5.7 s with 0.1, in 0.23 s with 0.
PIVOT = 1e-3
LARGEST = 150_000_000  # bytes of a matrix: above, sweeps without W come first, and no sparse one is made dense
EFFORT, EFFORT_PER_CONTACT, LEAST_EFFORT = 400.0, 0.1, 2.0  # 1,000 contacts, masses 1e6 apart: up to 22 s of 102

# Sweeps (`gauss_seidel`, `auto`).
MEMORY = 10  # of Anderson; files of more than 10 contacts, mean time: 5 1.41 ms, 10 1.37 ms, 20 1.37 ms
CHECK_EVERY = 50  # sweeps between two errors where the change is not small; not varied
SWEEPS = 300  # files of more than 10 contacts, mean time: 100 2.03 ms, 300 1.39 ms, 900 1.52 ms
# The second start of Newton begins with PLAIN_SWEEPS from zero, too.
PLAIN_CONTACTS, PLAIN_SWEEPS = 10, 6  # before anything is loaded: 7 of 23 files, 226 of 768 generated end here

# Sweeps of large piles in scenes (`scenes.islands.pile`): rises of sweeps with momentum, each followed by plain ones.
# 31 recorded steps of 1000 capsules that fall into a bin, 774 to 3,200 contacts, tolerance 1e-4: contacts times sweeps
# [1e6], at momentum 0.8, 0.85, 0.9.  Momentum of 0.9 without an end: 24.3, plain sweeps alone: 21.7.  Plain ones after
# rises of 50 to 0.8: 10 7.2, 20 7.4, 30 7.7.
RISING = 50  # 20: 9.2 8.6 8.6, 30: 7.6 7.2 7.7, 40: 6.5 6.9 7.4, 50: 7.2 6.8 7.1, 60: 7.0 7.4 8.0, 100: - - 8.4
MOMENTUM = 0.85  # see above
# Piles of spheres, after 300 sweeps: turns with a pull to anchors, and without.  Recorded steps of 700 spheres with
# restitution 0.5 on which a pull all the time had failed (15), of 1500 alike (7) and of 1500 with radii 1:5 and mu 0.1
# to 1 (8): not solved, and contacts times sweeps [1e6].  A pull of 5e-4 all the time: 15 1 0, 25.9 14.8 10.4; none:
# 8 0 1, 25.5 20.4 17.2.
TURN = 100  # sweeps of a turn with the same anchors; of 200: 4 0 0, 26.0 10.3 8.9, of 150 and 300: 5 0 0, 23.0 10.2 9.6
# The 4 of 7 that were left of another choice after 1,500 sweeps: patches as they were took 1.1 s each, and turns 0.1 s.
TURNS, GOES = 6, 3  # turns that end with plain sweeps, and how often before a patch: 1,900 sweeps; 2 was enough for all
# Contacts up to which a patch is tried after the first turns.  Steps of 1500 spheres with radii 1:5 and mu 0.1 to 1 on
# which sweeps run away, 7, patches of 90 to 452 contacts: 3.9 s with all turns before the patch, 2.5 s with the first.
# 3 with restitution 0.5, patches of 1,825 to 2,384, need all turns: 6.3 s, and 6.8 s.
SMALL_PATCH = 600
PULL = 1e-3  # 2e-4: 4 0 0, 25.1 10.9 12.9, 5e-4: 2 0 1, 23.8 11.1 10.8, 1e-3: 3 0 0, 23.2 9.6 8.8

# Newton (`newton`).
WINDOW = 8  # merits that the line search looks back on; not varied
HALVINGS = 12  # of a step; not varied
# Alpha, relative to the diagonal of W, from the interior point (below): 1e-9 31 (2,718).  The interior point adds it to
# W' as well: 1e-8 31 (2,320), 1e-10 31 (2,196), this 32 (1,793); on the balls below 1e-10 1,058 and this 1,057.
# A proof that there is no solution (`wedged`) allows velocities of SHARP per impulse, relative to the approach.
SHARP = 1e-12

# Interior point (`interior_point`), alone on the 33 hard problems at 1e-8: solved (iterations of all together, Newton's
# steps included).  The numbers as they are: 32 (1,636).  Others were varied one by one at CROSSOVER = 0.1: 31 (2,196).
NEAR = 0.1  # residual / nu up to which nu may fall: 0.03 32 (2,109), 0.3 31 (2,352)
# Share of the way to the boundary of the cones: 0.8 31 (2,400), 0.99 32 (1,768).  Scenes, steps/s with 0.95 and 0.99:
# 200 boxes 480 521, wall of bricks 753 689; four drops each of eight robots 13.4 13.2 microseconds a step.
TO_THE_BOUNDARY = 0.95
AT_REST = 1e-6  # shift of W' for the impulses of the start: 1e-4 30 (2,643), 1e-8 32 (1,749), and 31 (1,961) at 0.03
CROSSOVER = 0.03  # nu below which Newton is tried, and factor of nu to the next try: 0.1 31 (2,196)
# Solves with the same factors for the kink.  Balls, masses 1e6 apart, 12 problems of 300 contacts, 8 of 600: solved
# (iterations).  None 8 of 10 (1,618), 7 (1,645); 6 12 (1,326), 8 (1,398).  A slope of |y_T| that is less where y_T has
# just changed much took 1,100 and 1,257, but then one of three stacks of 1,000 contacts was no longer solved.
CORRECTIONS = 6

# Proximal point (`proximal_point`).
# Newton steps of a subproblem, whose error is to fall to NEAR of the present one.  The interior point tries as many: 25
# on the balls below 12 (1,058), 15 12 (1,095).  Direct methods are worth a try where as many factorisations are
# affordable.
INNER_LIMIT = 15
# Steps of a rung that its share of the work is to end: proximal point with leaps, and the interior point's second go.
# Balls, masses 1e6 apart, 1,000 contacts, 12 seeds that no number here was chosen on: with 300 steps of the interior
# point alone 5 of the first 8 are solved, and with as many as it takes (128 to 443) all 12.
PATIENT = 3_000
PARALLEL, WORSE = 0.98, 1e3  # leaps: cosine of two steps that make one, factor of the error allowed; not varied

# No solution (`wedged`).
LARGEST_PROOF = 200  # contacts up to which a proof is looked for

# Islands of scenes (`tree_newton`, `tree_ladder`): free bodies (FREE) and bodies on trees of joints (TREE).  "Robots":
# 231 steps of eight robots dropped onto a plane that took more than 0.3 ms each; time of all together, all solved.
# Numbers were varied one by one from a state that took 193 ms, those of START and slip from one that took 120 ms.
AIM = 0.1  # of the tolerance: what a step of a motion leaves over, the next one has to bear
CALM, WILD = 1e-3, 0.1  # least alpha while contacts change, and the largest: see `tree_newton`
# Steps that are taken to get below AIM of the tolerance once it is met.  83 steps of boxes, 78 of the wall, mean ms:
# 1 10.5 3.5, 2 11.5 3.6, 8 12.4 3.9, without an end 18.7 4.9; of a dropped a1 half of all steps were taken in vain.
MORE = 2
# Of a step, while the error grows by more.  83 steps of boxes: 5, 2.0 70 solved, 2, 100.0 74.  Robots: 5, 2.0 193 ms,
# 2, 100.0 120 ms; but then a capsule in a hand that is led about slips by 1.7e-6 m, with 5, 2.0 by 1.3e-10 m.
TREE_HALVINGS, GROWTH, FREE_HALVINGS, FREE_GROWTH = 5, 2.0, 2, 100.0
FREE_ALPHA, TREE_ALPHA = 1e-5, 1e-4  # of Newton, at last: rounding must not move the loads of a grasp
FREE_STEPS, TREE_STEPS = 200, 20  # of Newton at a time: see `tree_ladder`; robots: 10 leaves 4 of them
FREE_SOFTER, SOFTER = (0.1, 1e-3, 1e-6), (0.1, 1e-2)  # softness, times the least size of a contact, to least norm
SOFT_STEPS, SOFT_TOL = 25, 1e-9  # Newton steps for each, and the error that does; alpha too: what is soft is regular
STEADY = 5e-10  # part of the loads that rounding of positions may move in a step
LOOP_ALPHA = 1e-8  # of rows without bounds: of 120 random mechanisms 13 stop, with 1e-9 and 1e-11 15 and 16
ROW_ALPHA = 1e-6  # of rows with bounds in linear equations: redundant motors share their load as before
AT_BOUND = 1e-12  # of a bound: rounding of an impulse at it
# An error above SLOW of the last, states as before: alpha holds up, and shrinks by LESS down to LEAST.  Robots: LESS of
# 0.1 208 ms, of 0.01 193.  Where contacts slip the least is TREE_ALPHA: with 1e-10 robots take 97 ms instead of 120,
# and capsules in a hand slip at dt = 2e-3 by 8.8e-6 instead of 1.3e-10 m.
SLOW, LESS, LEAST = 0.1, 1e-2, 1e-10
FREE_ROUNDS, FREE_PUSH, FARTHER = 4, 0.01, 10.0  # of the interior point; into the cones; growth after a round in vain
INNER_STEPS, INNER_TOL = 60, 1e-7  # of the interior point, and an error left to Newton; robots: 40 193 ms, 60 203
# Softness of the regular problems of the proximal point, times the least size of a contact, and its fall.  Robots, with
# 0.1 132 ms, with 1e-4 120.
START, FALL = 1e-4, 0.5
FIRST_ROUNDS = 10  # of the proximal point, before the interior point is tried down to the tolerance; not varied
LEAST_MU = 1e-3  # smaller coefficients are taken as this by the interior point: its answer is a start only
LEAST_SPEED = (
    1e-4  # of the largest velocity: what pushes its start into the cones, at least; robots: 0 200 ms, this 193
)
SHORT = 0.3  # steps below halve theta: 20 of 24 walls, lagged 10
