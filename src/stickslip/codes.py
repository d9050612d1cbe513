"""Numbers by which kernels and their callers call things: statuses, contact states, elements, places in the book.

Plain constants, which no system changes; tolerances that both sides know are here as well.
"""

GAUSS_SEIDEL, LEMKE, AUTO, ENUMERATE, NEWTON = 0, 1, 2, 3, 4
MIDPOINT, THETA, STEWART, PAOLI = 0, 1, 2, 3
DONE, EVENTS_FULL, UNSOLVED, BLOWN_UP, MASS_INDEFINITE, GAP_NOT_A_NUMBER, MATRIX_INDEFINITE = 0, 1, 2, 3, 4, 5, 6
PENETRATES, LAW_OUT_OF_RANGE, START_NOT_FINITE, START_OFF = 7, 8, 9, 10  # members of ensembles that cannot start
CONTROL_FAILED = 14  # a control law that set what is not finite or out of its range; 11 to 13 are scenes' in ensembles
OPEN, STICK, SLIP_PLUS, SLIP_MINUS, IMPACT, CLOSED = 0, 1, 2, 3, 4, 5
N_STATES = 6
CONTACT, CLUTCH, FRICTION, SPRING, TANGENT, CONSTRAINT, NONHOLONOMIC = 0, 1, 2, 3, 4, 5, 6

# The book of a run: its certificate, what it cost, its energies.
FAILED_STEPS, MAX_RESIDUAL, MAX_PENETRATION, MAX_ENERGY_GAIN, MAX_LCP_SIZE = 0, 1, 2, 3, 4
ITERATIONS, FALLBACKS, CULPRIT, GAIN_STEP = 5, 6, 7, 8
CONTACT_WORK, PROJECTION_ENERGY, PROJECTIONS, WORK_BEFORE, INTEGRATION_ENERGY = 9, 10, 11, 12, 13
FRICTION_ROUNDS, FRICTION_CONTRACTION = 14, 15
CONSTRAINT_ERROR, CONSTRAINT_RATE = 16, 17  # of constraints at the ends of steps: g, and J u + b
STEPS, BOOK_SIZE = 18, 19  # STEPS: how many are done, the clock of the run

# What ensembles watch, behind the book in the same array: the request, then what was seen.
NO_SECTION, FALLS, RISES, STRIKES, PHASE = 0, 1, 2, 3, 4
FIRST_WATCHED, LEVEL, CYCLE, TRAVEL, N_POINTS, PASSAGES, PHASES = range(BOOK_SIZE, BOOK_SIZE + 7)
TIME_FIRST, TIME_LAST, TRAVEL_FIRST, TRAVEL_LAST, SHORTEST, LONGEST = range(BOOK_SIZE + 7, BOOK_SIZE + 13)
IMPACTS = BOOK_SIZE + 13  # of each contact; behind them what `templates.watch` has room for

CANCELLED = 1e-14  # a velocity this small against the terms that it is the sum of is zero
ANYWHERE = 2.0**996  # times the length it keeps: reach of a contact that takes part in the next step whatever its gap
LEAST_KEPT = 1e-60  # [m], of the lengths that contacts keep: with the factor above in the range of numbers
MOST_KEPT = 1e3
LEAVES = 1e-10  # of the velocity that a contact's impulse changes: a contact that leaves faster after a blow has left
BEHIND = 1e-5  # [m], a contact this deep that may not close is behind its surface at a start, see `Contact.closes_when`
GAP_ROUNDING = 16 * 2.0**-52  # of the sizes of a gap's terms: no gap is known better, and a smaller one is closed
NEAR = 1e-9  # of the sizes: gaps below are compared with their rounding errors, those above are open for sure
SIZES_LAST = 256  # steps for which the sizes that NEAR is a part of are kept
LARGEST = 1e20  # a velocity beyond, in whatever units, is the end of an unstable run
ITERATION_LIMIT = 50
GRAIN = 2e-15  # of the positions: what rounding errors of gaps and forces may move them by in a step
DEPENDENT = 1e-12  # of its own size: what is left of a direction beside those that imply it
HELD_ERROR = 1e-13  # of the sizes in a constraint: its equation holds where it is not known better
HELD_LIMIT = 1e-7  # of the velocities in a constraint: one that is violated more contradicts the others
