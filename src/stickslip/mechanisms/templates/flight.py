"""Template: steps while no contact is near and nothing is recorded, the most frequent ones, in a loop of their own.

They are the steps of `march`, operation for operation.  What contacts need is not in sight here, so that all numbers of
the loop stay in registers; and where the members of a warp strike at different times, those in flight do several steps
while one of the others does one with contacts.
"""

from stickslip.codes import CYCLE, FALLS, PHASE, PHASES, RISES
from stickslip.jit.marks import dev, float64, int64, local_array, tight
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.mass import bounded, free_velocity
from stickslip.mechanisms.templates.model import (
    EXTREMES,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    SECTION,
    STAYS_ON_CARD,
    dynamics,
)
from stickslip.mechanisms.templates.structs import Motion, Step
from stickslip.mechanisms.templates.watch import note_extremes, passes, section_value

TOGETHER = 32 if STAYS_ON_CARD else 128
"""Steps after which the members of a warp wait for one another: one that is ahead would meet its contacts alone."""
ALONE = 128
"""Steps in one go on the CPU, where nobody waits."""


@dev
def step_of_flight(inverse):
    """Room for a step without contacts."""
    q_M = local_array(N_DOF, float64)
    h = local_array(N_DOF, float64)
    M = local_array((N_DOF, N_DOF), float64)
    dv = local_array(N_DOF, float64)
    u_E = local_array(N_DOF, float64)
    u_free = local_array(N_DOF, float64)
    return Step(q_M, h, M, inverse, dv, u_free, u_E)


@dev
def moves_freely(m, motion, step, g, t_M):
    """Steps 2 to 4 of [GS05] 5 for a step whose gaps all stay open; False where one does not, or the motion ends."""
    run = m.run
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
def copied_motion(motion):
    """A copy of the state, which has no address outside of a loop and may live in registers."""
    q = local_array(N_DOF, float64)
    u = local_array(N_DOF, float64)
    copy_motion(motion, Motion(q, u))
    return Motion(q, u)


@dev
def copy_motion(source, target):
    """Copy a state."""
    for j in range(N_DOF):
        target.q[j] = source.q[j]
        target.u[j] = source.u[j]


@dev
def passes_section(watch, motion, ended, t_E, due):
    """Whether the step from `motion` to `ended` passes the section of an ensemble; `due`: time of its next phase."""
    if SECTION in (FALLS, RISES):
        level = watch.level
        return passes(section_value(motion.q, motion.u, level), section_value(ended.q, ended.u, level))
    if SECTION == PHASE:
        return t_E >= due
    return False


@dev
def due_phase(m):
    """Time of the next phase of the section, where it is one [s]."""
    due = 0.0
    if SECTION == PHASE:
        due = m.run.t0 + (m.book[PHASES] + 1.0) * m.book[CYCLE]
    return due


@dev
def goes_on(run, watch, motion, step, number, due):
    """Step 5 of [GS05] 5: the end of step `number` becomes the begin of the next one; False where a section is passed,
    and nothing is done.
    """
    q_E = local_array(N_DOF, float64)
    for j in range(N_DOF):
        q_E[j] = step.q_C[j] + 0.5 * run.dt * step.u_E[j]
    ended = Motion(q_E, step.u_E)
    if passes_section(watch, motion, ended, run.t0 + (number + 1) * run.dt, due):
        return False
    copy_motion(ended, motion)
    if EXTREMES and number >= watch.first:
        note_extremes(motion.q, motion.u, watch)
    return True


@tight
def fly(m, first_step, most):
    """Do up to `most` steps in place, as long as no contact closes and the section is not passed; return how many."""
    run = m.run
    motion = copied_motion(m.motion)
    step = step_of_flight(m.step.inverse)
    g = local_array(N_CONTACTS, float64)
    due = due_phase(m)
    flown = int64(0)
    while flown < most:
        number = first_step + flown
        if not moves_freely(m, motion, step, g, run.t0 + (number + 0.5) * run.dt):
            break
        if not goes_on(run, m.watch, motion, step, number, due):
            break
        flown += 1
    copy_motion(motion, m.motion)
    return flown
