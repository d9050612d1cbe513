"""Every number of `solve_friction` that was chosen by measuring, with the measurement that set it.

Problems: the 23 files written by other programs; `bench.random_friction` in six classes, planar and spatial, 1 to 5,000
contacts; at 1e-4, 1e-8 and 1e-12.  "Hard" below: the 33 of 408 problems with masses 1e6 apart (10 to 300 contacts) that
sweeps, Newton and proximal point had not solved to 1e-7 in 0.3 s.  Costs are nominal seconds, see `effort`.
"""

# What counts as solved (`residual`).
ROUNDINGS = 8.0  # roundings of u that are no violation: Newton ends at 0.1 to 2 of them, heavy on light included
MOST_ROUNDING = 1e-6  # of v; the largest eps |W| |r| met was 1.2e-7 (2D stack, 1,000 contacts, masses 1e6 apart)
RUNAWAY = 0.02  # error in velocities that contradicts any natural map: impulses grow without bound

# Work (`effort`, `method`): measured on one core of 2026, within a factor of 2 on problems of 10 to 5,000 contacts.
SWEEP_BLOCK, SWEEP_CONTACT = 6e-9, 1.2e-7  # seconds of a sweep, per block of W and per contact
STEP = 1e-4  # seconds of an iteration in Python, whatever its size
AT_ONCE = 0.03  # seconds of work between two looks at the clock: 10 % of a limit of 0.3 s
SMALL = 150  # contacts up to which an analysis of fill-in costs more than it saves
DENSE_LIMIT, DENSE_SHARE = 150, 0.2  # dense LU is faster up to 150 unknowns, or where a fifth of the entries are there
LARGEST_DENSE = 6_000  # unknowns of a dense matrix: 288 MB
EFFORT, EFFORT_PER_CONTACT, LEAST_EFFORT = (
    400.0,
    0.1,
    2.0,
)  # seconds of planned work

# Sweeps (`gauss_seidel`, `auto`).
MEMORY = 10  # of Anderson: 5 and 20 were slower on the 23 files
CHECK_EVERY = 50  # sweeps between two errors where the change is not small: 2 % of the time
SWEEPS = 300  # first rung: 19 of the 23 files and 86 % of the generated problems end here
PLAIN_CONTACTS, PLAIN_SWEEPS = 10, 6  # plain sweeps before anything else has to be loaded: 9 of the 23 files end here
SWEEP_SHARE = 0.2  # of the planned work for the first rung: large problems get fewer sweeps
FEW = 5  # sweeps from zero that Newton's second start begins with
PATCH, MOST_PATCHES = 500, 40  # plain sweeps that have to halve the error, and how often they may

# Newton (`newton`).
WINDOW = 8  # merits that the line search looks back on
HALVINGS = 12  # of a step
SHARP = 1e-12  # alpha, relative to the diagonal of W: with 1e-9, 5 more of the 33 hard ones fail; 1e-14 loses one
QUICK_COST = 0.004  # of a factorisation up to which Newton starts a second time, from a few sweeps
DIRECT_STEPS = 15  # factorisations that must be affordable for direct methods to be worth a try

# Interior point (`interior_point`): hard problems solved of 33, iterations together, when varied.
NEAR = 0.1  # residual / nu up to which nu may fall: 0.01 31, 0.03 32, 0.1 32 (1,037), 0.3 30, 1 31
TO_THE_BOUNDARY = 0.95  # share of the way to the boundary: 0.8 31 (1,373), 0.95 32 (1,037)
REGULARISATION = 1e-10  # of W': 1e-8 31 (1,454), 1e-10 32 (1,037), 1e-12 32 (1,031)
AT_REST = 1e-6  # shift of W' for the impulses of the start; ones instead of these: 7 problems, 3 instead of 5 solved
CROSSOVER, CROSSOVER_STEPS = 0.1, 25  # nu below which Newton is tried, and factor of nu to the next try; steps of a try

# Proximal point (`proximal_point`).
INNER_LIMIT, INNER_TOLERANCE = 15, 0.1  # Newton steps of a subproblem, and its error relative to the present one
EASY, HARD = 3, 8  # inner steps below which a falls, above which it rises
PARALLEL, FRACTION, WORSE = 0.98, 0.9, 1e3  # leaps: cosine of two steps, share of the way, error they may reach

# No solution (`wedged`).
LARGEST_PROOF = 200  # contacts up to which a proof is looked for: 50 ms
NO_WAY_OUT = 1e-12  # velocity per impulse, relative to the approach: impulses of 1e12 of those that stop one contact
