"""Template: a step with two closed contacts, solved by their branches, see `contact.two_contacts`."""

from stickslip.contact.two_contacts import (
    ALL,
    NORMALS,
    ROUNDING,
    Pair,
    correction,
    first_branch,
    left_over,
    two_contacts,
)
from stickslip.jit.marks import dev, float64, int64, local_array, on_card, rare
from stickslip.mechanisms.templates.contacts import cancel
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF


@dev
def new_pair():
    """Room for two contacts."""
    return Pair(
        contact=local_array(2, int64),
        pushes=local_array(2, int64),
        branch=local_array(2, int64),
        mu=local_array(2, float64),
        a=local_array(2, float64),
        G=local_array((4, 4), float64),
        A=local_array((4, 5), float64),
        c=local_array(4, float64),
        x=local_array(4, float64),
        dx=local_array(4, float64),
    )


@dev
def entry_of_pair(k, m, W, V):
    """w_k^T M^-1 w_m, an entry of the Delassus matrix."""
    value = 0.0
    for j in range(N_DOF):
        value += W[k, j] * V[m, j]
    return value


@dev
def delassus_of_pair(i, pair, directions, unknowns):
    """Rows of contact i of the Delassus matrix G, unknowns N_1, N_2, T_1, T_2; later rows complete those before."""
    G, k = pair.G, pair.contact[i]
    for m in range(i + 1):
        G[i, m] = entry_of_pair(k, pair.contact[m], directions.W_N, directions.V_N)
        G[m, i] = G[i, m]
    if unknowns == NORMALS:
        return
    for m in range(2):
        G[i, 2 + m] = entry_of_pair(k, pair.contact[m], directions.W_N, directions.V_T)
        G[2 + m, i] = G[i, 2 + m]
    for m in range(i + 1):
        G[2 + i, 2 + m] = entry_of_pair(k, pair.contact[m], directions.W_T, directions.V_T)
        G[2 + m, 2 + i] = G[2 + i, 2 + m]


@dev
def velocities_of_pair(i, pair, directions, contacts, u):
    """c <- xi_N, xi_T of contact i at the velocities u."""
    k = pair.contact[i]
    pair.c[i] = contacts.offset[k, 0]
    pair.c[2 + i] = contacts.offset[k, 1]
    for j in range(N_DOF):
        pair.c[i] += directions.W_N[k, j] * u[j]
        pair.c[2 + i] += directions.W_T[k, j] * u[j]


@dev
def choose_pair(pair, directions, contacts):
    """The two active contacts; False where one has no normal direction."""
    n = int64(0)
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            pair.contact[n] = k
            n += 1
    return directions.diagonal[pair.contact[0], 0] > 0.0 and directions.diagonal[pair.contact[1], 0] > 0.0


@dev
def set_up_pair(pair, directions, laws, contacts, u_free, unknowns):
    """The problem of the two contacts, and their first branches."""
    for i in range(2):
        k = pair.contact[i]
        pair.mu[i] = laws.mu[k]
        pair.a[i] = laws.a[k]
        velocities_of_pair(i, pair, directions, contacts, u_free)
        pair.pushes[i] = 1 if pair.c[i] < 0.0 else 0
        frictional = directions.diagonal[k, 1] > 0.0 and (pair.mu[i] > 0.0 or pair.a[i] > 0.0)
        pair.branch[i] = first_branch(pair.c[2 + i], frictional)
        delassus_of_pair(i, pair, directions, unknowns)


@dev
def add_impulses(pair, directions, x, u):
    """u += M^-1 W x."""
    for i in range(2):
        k = pair.contact[i]
        for j in range(N_DOF):
            u[j] += directions.V_N[k, j] * x[i] + directions.V_T[k, j] * x[2 + i]


@rare
def by_pair(directions, laws, contacts, step):
    """Solve a step with two active contacts; rounds, negative where no branches are consistent.

    Impulses into Lambda, velocities into u_E; u_E is u_free and Lambda zero on entry, and again where it fails.
    """
    pair = new_pair()
    if not choose_pair(pair, directions, contacts):
        return int64(-1)
    slides = directions.diagonal[pair.contact[0], 1] > 0.0 or directions.diagonal[pair.contact[1], 1] > 0.0
    if on_card() or slides:  # on a card, more code costs more than two equations save
        return solve_pair(pair, directions, laws, contacts, step, ALL)
    return solve_pair(pair, directions, laws, contacts, step, NORMALS)


@dev
def solve_pair(pair, directions, laws, contacts, step, unknowns):
    """Solve the problem of two contacts for their impulses in both directions, or for those of the normals alone."""
    set_up_pair(pair, directions, laws, contacts, step.u_free, unknowns)
    c, x, dx = pair.c, pair.x, pair.dx
    rounds = two_contacts(pair, unknowns)
    if rounds < 0:
        return rounds
    add_impulses(pair, directions, x, step.u_E)
    size = abs(c[0]) + abs(c[1]) + abs(c[2]) + abs(c[3])
    for i in range(2):
        velocities_of_pair(i, pair, directions, contacts, step.u_E)
    if left_over(pair) > ROUNDING * size:  # contacts of very different inertias lose digits
        correction(pair, unknowns)
        add_impulses(pair, directions, dx, step.u_E)
        for i in range(2):
            x[i] = max(0.0, x[i] + dx[i])
            bound = pair.mu[i] * x[i] + pair.a[i]
            x[2 + i] = max(-bound, min(bound, x[2 + i] + dx[2 + i]))
    for i in range(2):
        contacts.Lambda[pair.contact[i], 0] = x[i]
        contacts.Lambda[pair.contact[i], 1] = x[2 + i]
    cancel(directions, contacts, step)
    return rounds


@rare
def undo(contacts, step):
    """Go back to the step without impulses."""
    for j in range(N_DOF):
        step.u_E[j] = step.u_free[j]
    for k in range(N_CONTACTS):
        contacts.Lambda[k, 0] = 0.0
        contacts.Lambda[k, 1] = 0.0
