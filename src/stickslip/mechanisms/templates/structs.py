"""Structs that the parts of a march hand to one another.  A struct holds arrays; parts write into them.

The translator resolves structs while it writes the text, so that they cost nothing.  Sizes: f coordinates, n contacts.
"""

from typing import Any, NamedTuple

Array = Any


class Run(NamedTuple):
    """Values for all steps: parameters, time of step 0 [s], step length [s]; most sweeps of a solver, tolerance."""

    p: Array
    t0: float
    dt: float
    sweeps: int
    tol: float


class Asked(NamedTuple):
    """Wishes for members: step length [s], steps, most sweeps, tolerance, depth [m] in which none may start."""

    dt: float
    n_steps: int
    sweeps: int
    tol: float
    depth: float


class Kept(NamedTuple):
    """State of a mechanism between two marches, which a march updates in place; the fields are those of `Memory`."""

    q: Array
    u: Array
    impulse_before: Array
    impulse_sum: Array
    last_loaded: Array
    carried: Array
    reach: Array
    drift: Array
    book: Array


class Records(NamedTuple):
    """Room for records, one row each, and for impacts, see `engine.Block`."""

    q: Array
    u: Array
    impulse: Array
    state: Array
    events: Array


class Place(NamedTuple):
    """Where a step writes: contact states of the next record, impacts, and how many of these there are."""

    states: Array
    events: Array
    n_events: int


class Times(NamedTuple):
    """Number of a step, and its times t_A, t_M, t_E [s]: begin, midpoint, end."""

    step: int
    A: float
    M: float
    E: float


class Where(NamedTuple):
    """Where the contacts of a step are evaluated: coordinates q (f,), time t [s]; and the parameters p."""

    q: Array
    t: float
    p: Array


class Motion(NamedTuple):
    """Coordinates q and velocities u, both (f,), where a step begins: q_A, u_A."""

    q: Array
    u: Array


class Step(NamedTuple):
    """Values that a step computes on its way from u_A to u_E.

    q_C (f,): where the contacts are evaluated, the midpoint q_M of the midpoint rule.  h (f,): forces.  M (f, f): mass
    matrix, factored; inverse: M^-1 where the mass is constant.  dv (f,): M^-1 h dt.  u_free (f,): u_A + dv.
    u_E (f,): velocity at the end.
    """

    q_C: Array
    h: Array
    M: Array
    inverse: Array
    dv: Array
    u_free: Array
    u_E: Array


class Implicit(NamedTuple):
    """Values that schemes other than the midpoint rule need in a step.

    q_E (f,): coordinates at the end.  u_last (f,): velocity of the iteration before.  h_A (f,): forces at the begin.
    inertia (f, f): mass matrix, not factored; weight (f,): its diagonal.  K, C (f, f): derivatives of the forces by q
    and u; work (2, f): room to compute them.
    """

    q_E: Array
    u_last: Array
    h_A: Array
    inertia: Array
    weight: Array
    K: Array
    C: Array
    work: Array


class Gaps(NamedTuple):
    """Gaps g (n,) [m]; `before`: those of one step earlier; `rounding`: their rounding errors; `near`: larger gaps are
    open for sure.
    """

    g: Array
    before: Array
    near: Array
    rounding: Array


class Directions(NamedTuple):
    """Directions of the contacts, one row each.

    W_N, W_T (n, f); w_hat (n, 2); V_N, V_T (n, f): M^-1 w; diagonal (n, 3): the entries alpha = w_N M^-1 w_N,
    beta = w_T M^-1 w_T and delta = w_N M^-1 w_T of the Delassus matrix, [PG05] eq. (22).
    """

    W_N: Array
    W_T: Array
    w_hat: Array
    V_N: Array
    V_T: Array
    diagonal: Array


class Laws(NamedTuple):
    """Coefficients of the contacts, (n,): friction, restitution, and the load-independent friction bound a [N s].

    section (n, ...): sections of friction cones as `contact.spatial_contact` has them; None without two tangents.
    """

    mu: Array
    eps_N: Array
    eps_T: Array
    a: Array
    section: Array


class ProcessLaw(NamedTuple):
    """An impact law that is a process of its own, and what it keeps during a step; see `templates.impact_laws`.

    eps_N, eps_T (n,): its coefficients.  first (n, 2): impulses of compression.  total (n, 2): of the whole impact;
    best (n, 2): those of the last share of the coefficients that gained no energy.  offset (n, 2), a (n,), u_free (f,):
    of the step's own problem.  search (5,): how far the search for this share has come.
    """

    eps_N: Array
    eps_T: Array
    first: Array
    total: Array
    best: Array
    offset: Array
    a: Array
    u_free: Array
    search: Array


class Rounds(NamedTuple):
    """How far the iterations of a step have come; one number each.

    correction : relative, of the last iterate of an implicit scheme.  moved : 1 where a coefficient of friction has to
    change.  defect : of the friction laws after `count` rounds.
    """

    correction: Array
    moved: Array
    defect: Array
    count: Array


class Contacts(NamedTuple):
    """The contact problem of a step and its answer, [GS05] eqs. (12), (20), (21).

    active (n,): 1 for contacts that take part.  kinds (n,): `codes.CONTACT` and so on.  offset (n, 2): xi - w^T u_E.
    size (n, 3): sums of absolute values that make up gamma_N and gamma_T, and what forces do to gamma_N.
    gamma_A, gamma_E (n, 2): relative velocities, normal and tangential.  Lambda (n, 2): impulses.
    change (f,): |u_A| + |dv|; dv (f,): that of `Step`.
    """

    active: Array
    kinds: Array
    offset: Array
    size: Array
    gamma_A: Array
    gamma_E: Array
    Lambda: Array
    change: Array
    dv: Array


class Ended(NamedTuple):
    """How a step has ended for one contact.

    kind : `codes.CONTACT` and so on.  gamma_T : slip [m/s]; size_T : of its terms.  tangential : it has a tangential
    part.  bound : of its friction [N s].  N, T : impulses [N s].
    """

    kind: int
    gamma_T: float
    size_T: float
    tangential: bool
    bound: float
    N: float
    T: float


class Remembered(NamedTuple):
    """Memory of contacts from step to step.

    last_loaded (n,): number of the last step with a normal impulse.  N_before (n,): Lambda_N of the step before.
    total (n, 2): impulses since the last record.  reach (n,): how far a contact may seem open and yet take part.
    carried (n, 2): impulses of the first half of an impact.  sticks (n,): 1 where a contact sticks.
    drift (n,): how fast a contact that a blow has not parted may come apart since [m/s].
    """

    last_loaded: Array
    N_before: Array
    total: Array
    reach: Array
    carried: Array
    sticks: Array
    drift: Array


class Lcp(NamedTuple):
    """Room for the LCP [GS05] eq. (33) and Lemke's method; `contact.planar_lcp` says what is in it."""

    A: Array
    b: Array
    x: Array
    y: Array
    scale: Array
    rows: Array
    part: Array
    basis: Array
    nonbasic: Array
    row_of: Array
    column_of: Array


class Blocks(NamedTuple):
    """Parts of which the LCP is assembled, see `contact.planar_lcp.assemble`."""

    E: Array
    b: Array
    d: Array


class Projected(NamedTuple):
    """Room for a projection: shifts of contacts (n,) and coordinates (f,), two energies; total energy at the begin."""

    shift: Array
    dq: Array
    E: Array
    energy_A: Array


class Held(NamedTuple):
    """Constraints of a step, m of them; see `templates.held`.

    W_N, J (n, f), b (n, 2), g (n,): directions, rows and equations at the end of the step; M (f, f): its mass matrix,
    factored.  V (m, f): M^-1 J^T.  S (m, m): J V, scaled by `scale` (m,); L (m, m): its factor, with `order` (m,) and
    `rank` (1,).  B (m, m), work, rest (m,): room.  rate (m,): what is asked; answer (m,): S^+ of it.
    X (n, 2, m): answers to impulses of the contacts.  Lambda (m,): reactions.  q_A, u_A (f,): begin of the step.
    E (2,): energies.
    """

    W_N: Array
    J: Array
    b: Array
    g: Array
    M: Array
    V: Array
    S: Array
    L: Array
    B: Array
    scale: Array
    order: Array
    rank: Array
    rate: Array
    work: Array
    rest: Array
    answer: Array
    X: Array
    Lambda: Array
    q_A: Array
    u_A: Array
    E: Array


class Watch(NamedTuple):
    """Watched of a member: first step, level of the section, extremes of q and u (2, f), state at the begin."""

    first: int
    level: float
    least: Array
    largest: Array
    q_A: Array
    u_A: Array


class March(NamedTuple):
    """All that a march works on.  None stands for what its scheme or solver does not need.

    tally : numbers of the book that steps with contacts change, by their places in it.
    """

    run: Run
    motion: Motion
    step: Step
    implicit: Implicit
    gaps: Gaps
    directions: Directions
    laws: Laws
    law: Any
    contacts: Contacts
    memory: Remembered
    lcp: Lcp
    slip: Any
    rounds: Rounds
    projected: Projected
    held: Held
    watch: Watch
    tally: Array
    book: Array


class Constraints(NamedTuple):
    """Constraints of a smooth motion, one entry per contact; see `templates.smooth`."""

    normal: Array
    stick: Array
    slip: Array


class Sides(NamedTuple):
    """Normal and tangential directions of the contacts, one row each."""

    W_N: Array
    W_T: Array


class Moved(NamedTuple):
    """Effects of a mode: du (f,) accelerations; forces, gamma (n, 2), normal and tangential; gaps; friction bounds."""

    du: Array
    forces: Array
    gamma: Array
    g: Array
    bound: Array
