"""Every number of `solve_friction` that was chosen by measuring, with the measurement that set it.

Problems: the 23 files written by other programs; `bench.random_friction` in six classes, planar and spatial.  "Hard":
the 33 of 248 problems with masses 1e6 apart (10 to 300 contacts) that the ladder without the present interior point had
not solved to 1e-7 in 0.3 s.  Costs are nominal seconds, see `effort`.  "Not varied": set when the
method was written, and left.
"""

# What counts as solved (`residual`).
ROUNDINGS = 8.0  # roundings of u that are no violation: all 568 problems with masses 1e6 apart then reach 1e-12
MOST_ROUNDING = 1e-6  # of v; largest eps |W| |r| / v of those problems: 1.4e-8 (plane, 300 contacts)
RUNAWAY = 0.02  # error in velocities that contradicts any natural map: impulses grow without bound; not varied

# Work (`effort`, `method`): timed on one core of 2026.  Factorisations of 15,000 unknowns took twice the nominal time.
SWEEP_BLOCK, SWEEP_CONTACT = 6e-9, 1.2e-7  # seconds of a sweep, per block of W and per contact
STEP = 1e-4  # seconds of an iteration in Python, whatever its size
AT_ONCE = 0.03  # seconds of work between two looks at the clock: 10 % of a limit of 0.3 s
DENSE_LIMIT, DENSE_SHARE = 150, 0.2  # dense LU is faster up to 150 unknowns, or where a fifth of the entries are there
LARGEST_DENSE = 6_000  # unknowns of a dense matrix: 288 MB
SILENT = 5.0  # nominal seconds of work between two lines on stderr; a choice: people wait some seconds without asking
EFFORT, EFFORT_PER_CONTACT, LEAST_EFFORT = 400.0, 0.1, 2.0  # 1,000 contacts, masses 1e6 apart: up to 22 s of 102

# Sweeps (`gauss_seidel`, `auto`).
MEMORY = 10  # of Anderson; files of more than 10 contacts, mean time: 5 1.41 ms, 10 1.37 ms, 20 1.37 ms
CHECK_EVERY = 50  # sweeps between two errors where the change is not small; not varied
SWEEPS = 300  # files of more than 10 contacts, mean time: 100 2.03 ms, 300 1.39 ms, 900 1.52 ms
PLAIN_CONTACTS, PLAIN_SWEEPS = 10, 6  # before anything is loaded: 7 of 23 files, 226 of 768 generated end here
FEW = 5  # sweeps from zero that the second start of Newton begins with; not varied
CROWDED = 2_000_000  # blocks of W, 150 MB, above which sweeps without W come first

# Sweeps of large piles in scenes (`scenes.islands.pile`): rises of sweeps with momentum, each followed by plain ones.
# 31 recorded steps of 1000 capsules that fall into a bin, 774 to 3,200 contacts, tolerance 1e-4: contacts times sweeps
# [1e6], at momentum 0.8, 0.85, 0.9.  Momentum of 0.9 without an end: 24.3, plain sweeps alone: 21.7.
RISING = 50  # 20: 9.2 8.6 8.6, 30: 7.6 7.2 7.7, 40: 6.5 6.9 7.4, 50: 7.2 6.8 7.1, 60: 7.0 7.4 8.0, 100: - - 8.4
PLAIN = 10  # at rises of 50 and 0.8: 10 7.2, 20 7.4, 30 7.7
MOMENTUM = 0.85  # see above
# Piles of spheres, after 300 sweeps: turns with a pull to anchors, and without.  Recorded steps of 700 spheres with
# restitution 0.5 on which a pull all the time had failed (15), of 1500 alike (7) and of 1500 with radii 1:5 and mu 0.1
# to 1 (8): not solved, and contacts times sweeps [1e6].  A pull of 5e-4 all the time: 15 1 0, 25.9 14.8 10.4; none:
# 8 0 1, 25.5 20.4 17.2.
TURN = 100  # sweeps of a turn; of 200: 4 0 0, 26.0 10.3 8.9, of 150 and 300: 5 0 0, 23.0 10.2 9.6
# The 4 of 7 that were left of another choice after 1,500 sweeps: patches as they were took 1.1 s each, and turns 0.1 s.
TURNS, MORE = 6, 3  # turns that end with plain sweeps, and how often before a patch: 1,900 sweeps; 2 was enough for all
# Contacts up to which a patch is tried after the first turns.  Steps of 1500 spheres with radii 1:5 and mu 0.1 to 1 on
# which sweeps run away, 7, patches of 90 to 452 contacts: 3.9 s with all turns before the patch, 2.5 s with the first.
# 3 with restitution 0.5, patches of 1,825 to 2,384, need all turns: 6.3 s, and 6.8 s.
SMALL_PATCH = 600
PULL = 1e-3  # 2e-4: 4 0 0, 25.1 10.9 12.9, 5e-4: 2 0 1, 23.8 11.1 10.8, 1e-3: 3 0 0, 23.2 9.6 8.8

# Newton (`newton`).
WINDOW = 8  # merits that the line search looks back on; not varied
HALVINGS = 12  # of a step; not varied
SHARP = 1e-12  # alpha, relative to the diagonal of W, from the interior point (below): 1e-9 31 (2,718)
DIRECT_STEPS = 15  # factorisations that must be affordable for direct methods to be worth a try; not varied

# Interior point (`interior_point`), alone on the 33 hard problems at 1e-8: solved (iterations of all together, Newton's
# steps included).  The numbers as they are: 32 (1,636).  Others were varied one by one at CROSSOVER = 0.1: 31 (2,196).
NEAR = 0.1  # residual / nu up to which nu may fall: 0.03 32 (2,109), 0.3 31 (2,352)
TO_THE_BOUNDARY = 0.95  # share of the way to the boundary of the cones: 0.8 31 (2,400), 0.99 32 (1,768)
REGULARISATION = 1e-10  # of W', relative to its diagonal: 1e-8 31 (2,320), 1e-12 32 (1,793), and 31 (1,961) at 0.03
AT_REST = 1e-6  # shift of W' for the impulses of the start: 1e-4 30 (2,643), 1e-8 32 (1,749), and 31 (1,961) at 0.03
CROSSOVER = 0.03  # nu below which Newton is tried, and factor of nu to the next try: 0.1 31 (2,196)
CROSSOVER_STEPS = 25  # Newton steps of a try: 15 31 (1,852)

# Proximal point (`proximal_point`).
INNER_LIMIT, INNER_TOLERANCE = 15, 0.1  # Newton steps of a subproblem, and its error relative to the present one
EASY, HARD = 3, 8  # inner steps below which a falls, above which it rises; not varied
PARALLEL, WORSE = 0.98, 1e3  # leaps: cosine of two steps that make one, factor of the error allowed; not varied

# No solution (`wedged`).
LARGEST_PROOF = 200  # contacts up to which a proof is looked for
NO_WAY_OUT = 1e-12  # velocity per impulse relative to the approach: a proof up to impulses of 1e12 times the usual
