"""Template: steps while no contact is near and nothing is recorded, the most frequent ones, in a loop of their own.

They are the steps of `march`, operation for operation.  What contacts need is not in sight here, so that all numbers of
the loop stay in registers; and where the members of a warp strike at different times, those in flight do several steps
while one of the others does one with contacts.
"""

from stickslip.codes import CYCLE, FALLS, PHASE, PHASES, RISES
from stickslip.jit.marks import dev, float64, int64, local_array
from stickslip.mechanisms.templates.mass import bounded, factor_mass, free_velocity
from stickslip.mechanisms.templates.model import EXTREMES, MASS_CONSTANT, N_CONTACTS, N_DOF, SECTION, WATCHED, dynamics
from stickslip.mechanisms.templates.watch import note_extremes, passes, section_value

FLIGHT = 16  # steps at a time: as many as one step with two contacts costs


@dev
def fly(q, u, p, inverse, t0, dt, first_step, most, near, watch, book):
    """Do up to `most` steps in place, as long as no contact closes and the section is not passed; return how many.

    `near`: gaps that are not larger may be closed (`take_sizes`).
    """
    q_M = local_array(N_DOF, float64)
    q_E = local_array(N_DOF, float64)
    v = local_array(N_DOF, float64)
    dv = local_array(N_DOF, float64)
    h = local_array(N_DOF, float64)
    g = local_array(N_CONTACTS, float64)
    M = local_array((N_DOF, N_DOF), float64)
    if WATCHED:
        first_watched, level, least, largest = watch
    due = 0.0
    if SECTION == PHASE:
        due = t0 + (book[PHASES] + 1.0) * book[CYCLE]
    for flown in range(most):
        step = first_step + flown
        t_M = t0 + (step + 0.5) * dt  # [GS05] 5, step 1
        for j in range(N_DOF):
            q_M[j] = q[j] + 0.5 * dt * u[j]  # step 2
        dynamics(q_M, u, t_M, p, M, h, g)  # step 3 (a), (b)
        if not MASS_CONSTANT and not factor_mass(M):
            return flown
        free_velocity(u, dt, M, inverse, h, dv, v)
        if not bounded(v):
            return flown
        for k in range(N_CONTACTS):
            if not g[k] > near[k]:
                return flown
        for j in range(N_DOF):
            q_E[j] = q_M[j] + 0.5 * dt * v[j]  # step 5
        if SECTION == FALLS or SECTION == RISES:  # noqa: SIM109 (conditions on constants stand alone)
            if passes(section_value(q, u, level), section_value(q_E, v, level)):
                return flown
        elif SECTION == PHASE:  # noqa: SIM102
            if t0 + (step + 1) * dt >= due:
                return flown
        for j in range(N_DOF):
            q[j] = q_E[j]
            u[j] = v[j]
        if EXTREMES:  # noqa: SIM102
            if step >= first_watched:
                note_extremes(q, u, least, largest)
    return int64(most)
