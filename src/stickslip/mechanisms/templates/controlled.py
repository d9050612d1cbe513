"""Template: steps with a control law, which is called between them by the address of its machine code.

Joined behind the template of the steppers: between two calls the steps are those of `march`, operation for operation.
"""

import numpy as np

from stickslip.codes import CONTROL_FAILED, CULPRIT, DONE, STEPS
from stickslip.control import is_due, steps_until_due
from stickslip.jit.marks import entry, int64
from stickslip.mechanisms.steering import LAW_WRONG, serve, undo_call
from stickslip.mechanisms.templates.judged import out_of_range
from stickslip.mechanisms.templates.march import march
from stickslip.mechanisms.templates.model import energy, gap
from stickslip.mechanisms.templates.structs import Records


@entry
def controlled(run, kept, records, measured, n_steps, every, steer):
    """Do the next n_steps steps, and call the control law where it is due; (status, steps done, events, records)."""
    status = int64(DONE)
    done = written = n_events = int64(0)
    E = np.empty(2)
    while done < n_steps and status == DONE:
        step = int64(kept.book[STEPS])
        if is_due(steer.clock, step):
            status = int64(serve(run, kept, steer, step))
            if status != DONE:
                break
            if out_of_range(run.p):
                undo_call(run, steer)
                kept.book[CULPRIT] = LAW_WRONG
                status = int64(CONTROL_FAILED)
                break
        n = min(n_steps - done, int64(steps_until_due(steer.clock, step)))
        rest = Records(
            records.q[written:], records.u[written:], records.impulse[written:], records.state[written:],
            records.events[n_events:],
        )  # fmt: skip
        status, more, found, rows = march(run, kept, rest, n, every)
        for i in range(rows):
            t = run.t0 + (step // every + 1 + i) * every * run.dt
            gap(rest.q[i], t, run.p, measured.gap[written + i])
            energy(rest.q[i], rest.u[i], t, run.p, E)
            measured.energy[written + i, 0] = E[0]
            measured.energy[written + i, 1] = E[1]
        done += more
        written += rows
        n_events += found
    return status, done, n_events, written
