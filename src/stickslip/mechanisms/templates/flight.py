"""Template: steps while no contact is near and nothing is recorded, the most frequent ones, in a loop of their own.

They are the steps of `march`, operation for operation.  What contacts need is not in sight here, so that all numbers of
the loop stay in registers; and where the members of a warp strike at different times, those in flight do several steps
while one of the others does one with contacts.
"""

from stickslip.codes import CYCLE, FALLS, PHASE, PHASES, RISES
from stickslip.jit.marks import dev, float64, int64, local_array
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.mass import bounded, free_velocity
from stickslip.mechanisms.templates.model import EXTREMES, MASS_CONSTANT, N_CONTACTS, N_DOF, SECTION, dynamics
from stickslip.mechanisms.templates.structs import Step
from stickslip.mechanisms.templates.watch import note_extremes, passes, section_value

FLIGHT = 16  # steps at a time: as many as one step with two contacts costs


@dev
def step_of_flight(inverse):
    """Room for a step without contacts."""
    q_M = local_array(N_DOF, float64)
    h = local_array(N_DOF, float64)
    M = local_array((N_DOF, N_DOF), float64)
    dv = local_array(N_DOF, float64)
    u_E = local_array(N_DOF, float64)
    return Step(q_M, h, M, inverse, dv, u_E, u_E)


@dev
def moves_freely(m, step, g, t_M):
    """Steps 2 to 4 of [GS05] 5 for a step whose gaps all stay open; False where one does not, or the motion ends."""
    run, motion = m.run, m.motion
    for j in range(N_DOF):
        step.q_C[j] = motion.q[j] + 0.5 * run.dt * motion.u[j]  # [GS05] 5, step 2
    dynamics(step.q_C, motion.u, t_M, run.p, step.M, step.h, g)  # step 3 (a), (b)
    if not MASS_CONSTANT and not ldl_factor(step.M):
        return False
    free_velocity(step, motion.u, run.dt)
    if not bounded(step.u_E):
        return False
    open_for_sure = True
    for k in range(N_CONTACTS):
        open_for_sure = open_for_sure and g[k] > m.gaps.near[k]  # see `take_sizes`
    return open_for_sure


@dev
def passes_section(m, q_E, u_E, t_E, due):
    """Whether the step to (q_E, u_E) passes the section of an ensemble; `due`: time of its next phase."""
    if SECTION in (FALLS, RISES):
        level = m.watch.level
        return passes(section_value(m.motion.q, m.motion.u, level), section_value(q_E, u_E, level))
    if SECTION == PHASE:
        return t_E >= due
    return False


@dev
def fly(m, first_step, most):
    """Do up to `most` steps in place, as long as no contact closes and the section is not passed; return how many."""
    run, motion = m.run, m.motion
    step = step_of_flight(m.step.inverse)
    g = local_array(N_CONTACTS, float64)
    q_E = local_array(N_DOF, float64)
    due = 0.0
    if SECTION == PHASE:
        due = run.t0 + (m.book[PHASES] + 1.0) * m.book[CYCLE]
    for flown in range(most):
        number = first_step + flown
        if not moves_freely(m, step, g, run.t0 + (number + 0.5) * run.dt):
            return flown
        for j in range(N_DOF):
            q_E[j] = step.q_C[j] + 0.5 * run.dt * step.u_E[j]  # step 5
        if passes_section(m, q_E, step.u_E, run.t0 + (number + 1) * run.dt, due):
            return flown
        for j in range(N_DOF):
            motion.q[j] = q_E[j]
            motion.u[j] = step.u_E[j]
        if EXTREMES and number >= m.watch.first:
            note_extremes(motion.q, motion.u, m.watch)
    return int64(most)
