"""Template: the system of a generated module, here a point mass above a floor, and what its switches imply.

The generator puts another system between the two lines that say `model`; everything else, here and in the other parts,
is taken over word for word.  Branches that a scheme does not take are removed when it is compiled.

Shapes: q, u (N_DOF,); p (parameters,); M (N_DOF, N_DOF); g (N_CONTACTS,); W_N, W_T: one row per contact; w_hat, zeta
(N_CONTACTS, 2).
"""

import math  # noqa: F401  (the model's functions use it)

from stickslip.codes import (
    AUTO,
    CONSTRAINT,
    CONTACT,
    GAUSS_SEIDEL,
    ITERATION_LIMIT,
    MIDPOINT,
    PAOLI,
    SPRING,
    STEWART,
    TANGENT,
    THETA,
)
from stickslip.jit.marks import dev, sincos  # noqa: F401  (as well)

# -- model: begin
N_DOF = 1
N_CONTACTS = 1
N_PARAMETERS = 1
N_LCP = 3
N_LCP_COLUMNS = 4
MASS_CONSTANT = True
DIRECTIONS_CONSTANT = True
KINDS = (0,)
SOLVER = 2
SCHEME = 0
PROJECTION = 0.0
THETA_VALUE = 0.5
LASTING = False
FRICTION_LAWS = False
STATE_LAWS = False
SLIDING = (0,)
GATED = False
GATES = (False,)
N_SECTION = 1
SECTIONS = (0.0,)
OWN_LAW = False
LAW = 0
DISSIPATIVE = False
LAW_NUMBERS = 1
WATCHED = False
SECTION = 0
PLACE = 0
EXTREMES = False
SHARES = False


@dev
def mass(q, t, p, M):
    M[0, 0] = 1.0


@dev
def gap(q, t, p, g):
    g[0] = q[0]


@dev
def sizes(q, t, p, s):
    s[0] = abs(q[0])


@dev
def dynamics(q, u, t, p, M, h, g):
    h[0] = -p[0]
    g[0] = q[0]


@dev
def force(q, u, t, p, h):
    h[0] = -p[0]


@dev
def jacobian(q, u, t, p, K, C, work):
    K[0, 0] = 0.0
    C[0, 0] = 0.0


@dev
def geometry(q, t, p, W_N, W_T, w_hat):
    W_N[0, 0] = 1.0
    W_T[0, 0] = 0.0
    w_hat[0, 0] = 0.0
    w_hat[0, 1] = 0.0


@dev
def laws(p, mu, eps_N, eps_T, threshold):
    mu[0] = 0.0
    eps_N[0] = 0.0
    eps_T[0] = 0.0
    threshold[0] = 0.0


@dev
def friction(p, speed, mu):
    mu[0] = 0.0


@dev
def gates(q, t, p, c):
    c[0] = 1.0


@dev
def laws_at(q, t, p, strikes, mu, eps_N, eps_T, threshold):
    mu[0] = 0.0
    eps_N[0] = 0.0
    eps_T[0] = 0.0
    threshold[0] = 0.0


@dev
def friction_at(q, t, p, speed, mu):
    mu[0] = 0.0


@dev
def energy(q, u, t, p, E):
    E[0] = 0.5 * u[0] * u[0]
    E[1] = p[0] * q[0]


@dev
def drift(q, u, t, p, zeta):
    zeta[0, 0] = 0.0
    zeta[0, 1] = 0.0


# -- model: end

SPRINGS = SPRING in KINDS  # without, what springs need is left out
SPATIAL = TANGENT in KINDS  # contacts with two tangents, the second in the row behind their own
CONSTRAINTS = tuple(k for k in range(N_CONTACTS) if KINDS[k] >= CONSTRAINT)  # the constraints among the contacts
CONSTRAINED = len(CONSTRAINTS) > 0
N_HELD = max(1, len(CONSTRAINTS))
IMPLICIT = SCHEME in (THETA, PAOLI) or (SCHEME == STEWART and not MASS_CONSTANT)
PASSES = 2 * ITERATION_LIMIT if FRICTION_LAWS else (ITERATION_LIMIT if IMPLICIT else 1)
CENTRED = SCHEME <= THETA  # contacts at the midpoint; else their gaps are those at the end of the step
IMPACT_STEPS = 2 if SCHEME == PAOLI else 1
KEEPS = not LASTING and SCHEME != PAOLI  # closed contacts keep the rounding errors of their gaps
PAIRS = (
    SOLVER == AUTO and N_CONTACTS > 1 and not SPATIAL
)  # two closed contacts are solved by their branches, before any sweep
# Steps without contacts have a loop of their own.
PLAIN = SCHEME == MIDPOINT and PROJECTION == 0.0 and not SHARES and not GATED and set(KINDS) == {CONTACT}
FLIES = PLAIN
# Steps with one lasting contact have one, too.
SWEEPS = SOLVER in (AUTO, GAUSS_SEIDEL) and 0 < N_CONTACTS <= 12  # beyond, arrays lie on the heap
STAYS = PLAIN and SWEEPS and not (LASTING or FRICTION_LAWS or STATE_LAWS)
STAYS_ON_CARD = STAYS and MASS_CONSTANT and DIRECTIONS_CONSTANT
