"""Every number of `contact` that was chosen by measuring, with the measurement that set it.

Problems: the 23 files written by other programs; `bench.random_friction` in six classes, planar and spatial.  "Hard":
66 problems with masses 1e6 apart, 30 to 600 contacts, planar and spatial.  "Old hard": 33 of 248 such problems that an
older interior point had not solved.  Costs are nominal seconds, see `effort`.  "Not varied": set when the method was
written, and left.  Numbers that follow from the rounding of numbers stand in `rounding`, sizes and
what a call may cost in `effort`.
"""

# Factorisations (`effort`).
# Dense LU is faster up to 150 unknowns, or where a fifth of the entries are there; a proof that there is no solution
# (`wedged`), which is dense, is looked for up to as many contacts.
DENSE_LIMIT, DENSE_SHARE = 150, 0.2
# Least pivot on the diagonal beside the largest in its column.  Interior point, balls, masses 1e6 apart, three problems
# of 1,000 contacts: 0.1 13.2 7.9 3.5 s, 1e-3 5.4 5.6 2.1 s, 0 4.9 5.1 2.2 s, same steps.  W + 1e-6 1 of 5,000 contacts
# is factorised in 5.7 s with 0.1, in 0.23 s with 0.
PIVOT = 1e-3

# What is little beside something else: of the tolerance, what a step of a motion may leave over, since the next one has
# to bear it (AIM); of an error, one that falls by less holds up alpha, which shrinks (SLOW); of nu, the residual up to
# which nu may fall (NEAR); of a slip, that of a contact in the step before which has been at rest (HELD); of 1, the
# largest alpha (WILD).  NEAR alone, old hard: 0.03 32 (2,109), 0.1 32 (1,636), 0.3 31 (2,352).
LITTLE = 0.1
AIM = SLOW = NEAR = HELD = WILD = LITTLE

# Sweeps (`gauss_seidel`, `auto`).
MEMORY = 10  # of Anderson; files of more than 10 contacts, mean time: 5 1.41 ms, 10 1.37 ms, 20 1.37 ms
SWEEPS = 300  # files of more than 10 contacts, mean time: 100 2.03 ms, 300 1.39 ms, 900 1.52 ms
# The second start of Newton begins with PLAIN_SWEEPS from zero, too.
PLAIN_CONTACTS, PLAIN_SWEEPS = 10, 6  # before anything is loaded: 7 of 23 files, 226 of 768 generated end here

# Sweeps of large piles in scenes (`scenes.islands.pile`): rises of sweeps with momentum, each followed by plain ones.
# 31 recorded steps of 1000 capsules that fall into a bin, 774 to 3,200 contacts, tolerance 1e-4: contacts times sweeps
# [1e6], at momentum 0.8, 0.85, 0.9.  Momentum of 0.9 without an end: 24.3, plain sweeps alone: 21.7.  Plain ones after
# rises of 50 to 0.8: 10 7.2, 20 7.4, 30 7.7.  Rises of 20: 9.2 8.6 8.6, 30: 7.6 7.2 7.7, 40: 6.5 6.9 7.4,
# 50: 7.2 6.8 7.1, 60: 7.0 7.4 8.0, 100: - - 8.4.  All other sweeps are looked at as often, where they change much.
CHECK_EVERY = 50
MOMENTUM = 0.85
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

# Newton (`newton`, `on_bodies`, `tree_newton`).
WINDOW = 8  # merits that the line search looks back on; not varied
# Of a step.  Hard: 5 23,257 iterations, 12 23,392; files 6,481 and 6,388, in the same time.  Newton on bodies, 12
# towers of 12 contacts, masses 1e6 apart: 5 solves 11 of them, 2 all.  Walls hit at 8 to 27 m/s and boxes, 300 and 500
# steps: none 5.5 s, 2 4.8 s, 5 5.1 s.
HALVINGS = 2
# Newton steps at a time: of trees, of soft problems, of subproblems of the proximal point, of a try from the path of
# the interior point.  Of the last, on the balls below: 15 12 (1,095), 25 12 (1,058).  Robots: 10 leaves 4 of them.
# Of the interior point of islands: the walls and boxes of FREE_GROWTH, 20 7.2 1.13 s, 60 7.4 1.22 s.
NEWTON_STEPS = 20
# Alpha, relative to the diagonal of W, from the interior point (below): 1e-9 31 (2,718).  The interior point adds it to
# W' as well: 1e-8 31 (2,320), 1e-10 31 (2,196), this 32 (1,793); on the balls below 1e-10 1,058 and this 1,057.
# A proof that there is no solution (`wedged`) allows velocities of SHARP per impulse, relative to the approach.
SHARP = 1e-12

# Interior point (`interior_point`, `tree_interior`), alone on the 33 old hard problems at 1e-8: solved (iterations of
# all together, Newton's steps included).  The numbers as they are: 32 (1,636).  Others were varied one by one at
# CROSSOVER = 0.1: 31 (2,196).
# Share of the way to the boundary of the cones: 0.8 31 (2,400), 0.99 32 (1,768).  Scenes, steps/s with 0.95 and 0.99:
# 200 boxes 480 521, wall of bricks 753 689; four drops each of eight robots 13.4 13.2 microseconds a step.
TO_THE_BOUNDARY = 0.95
CROSSOVER = 0.03  # nu below which Newton is tried, and factor of nu to the next try: 0.1 31 (2,196)
SHORT = 0.3  # steps below halve theta: 20 of 24 walls, lagged 10
# Solves with the same factors for the kink.  Balls, masses 1e6 apart, 12 problems of 300 contacts, 8 of 600: solved
# (iterations).  None 8 of 10 (1,618), 7 (1,645); 6 12 (1,326), 8 (1,398).  A slope of |y_T| that is less where y_T has
# just changed much took 1,100 and 1,257, but then one of three stacks of 1,000 contacts was no longer solved.
CORRECTIONS = 6

# Proximal point (`proximal_point`).
# Steps of a rung that its share of the work is to end: proximal point, and the interior point's second go.
# Balls, masses 1e6 apart, 1,000 contacts, 12 seeds that no number here was chosen on: with 300 steps of the interior
# point alone 5 of the first 8 are solved, and with as many as it takes (128 to 443) all 12.
PATIENT = 3_000

# Islands of scenes (`tree_newton`, `tree_ladder`): free bodies and bodies on trees of joints.  "Robots": 231 steps of
# eight robots dropped onto a plane that took more than 0.3 ms each; time of all together, all solved.
CALM = 1e-3  # least alpha while contacts change: see `tree_newton`
# Steps that are taken to get below AIM of the tolerance once it is met.  83 steps of boxes, 78 of the wall, mean ms:
# 1 10.5 3.5, 2 11.5 3.6, 8 12.4 3.9, without an end 18.7 4.9; of a dropped a1 half of all steps were taken in vain.
MORE = 2
# Of the error, by which a whole step is taken.  83 steps of boxes: 2.0 70 solved, 100.0 74.  Robots: 2.0 193 ms, 100.0
# 120 ms; but then a capsule in a hand that is led about slips by 1.7e-6 m, with 2.0 by 1.3e-10 m.  Free bodies, eight
# walls hit at 8 to 27 m/s, 350 steps each: 2.0 23.3 s, two steps not solved; 100.0 7.4 s.
GROWTH, FREE_GROWTH = 2.0, 100.0
# Of free bodies at a time, and rounds of the proximal point: see `tree_ladder`.  The same walls: 60 43.5 s, four steps
# not solved, 200 7.4 s.
FREE_STEPS = 200
# Softness, times the least size of a contact, that leads to impulses of least norm.  Trees as free bodies: a box in a
# grasp that slips turns by 4e-9 rad/s.
SOFTER, TREE_SOFTER = (0.1, 1e-3, 1e-6), (0.1, 1e-2)
SOFT_TOL = 1e-9  # error of a soft problem that does, and its alpha; part of the loads that rounding may move in a step
# Goes of the interior point, and how far into the cones; as far again and again, by 1 / LITTLE, after one in vain.
FREE_ROUNDS, FREE_PUSH = 4, 0.01
# Fall of the softness of problems that lead to others.  That of the proximal point begins at TREE_ALPHA, times the
# least size of a contact.  Robots, with 0.1 132 ms, with 1e-4 120.
FALL = 0.25
LEAST_MU = 1e-3  # smaller coefficients are taken as this by the interior point: its answer is a start only
SHARES = (0.9, 0.99, 0.9999, 1.0)  # of the coefficients (`tree_rest`): impulses on the edge of a cone would slip next
ROUGHLY = 1e-4  # of the velocities: where softest contacts slip faster, there is no rest
MOVES = 1e3  # times the tolerance: a contact that slips faster is not at rest
