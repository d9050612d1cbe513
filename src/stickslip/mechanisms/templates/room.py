"""Template: room for a march: its structs, with arrays of the sizes of a system."""

from stickslip.codes import BOOK_SIZE, FIRST_WATCHED, GAUSS_SEIDEL, LEVEL, MIDPOINT
from stickslip.jit.marks import float64, int64, local_array, part
from stickslip.laws.scalar import NEWTON as NEWTONS_LAW
from stickslip.laws.slip import Slip
from stickslip.mechanisms.templates.held import new_held
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    FRICTION_LAWS,
    LAW,
    N_CONTACTS,
    N_DOF,
    N_LCP,
    N_LCP_COLUMNS,
    N_PARAMETERS,
    N_SECTION,
    PROJECTION,
    SCHEME,
    SOLVER,
    SPATIAL,
    WATCHED,
)
from stickslip.mechanisms.templates.structs import (
    Contacts,
    Directions,
    Gaps,
    Implicit,
    Laws,
    Lcp,
    March,
    Motion,
    ProcessLaw,
    Projected,
    Remembered,
    Rounds,
    Run,
    Step,
    Watch,
)


@part
def coordinates():
    """One number per coordinate."""
    return local_array(N_DOF, float64)


@part
def matrix():
    """A matrix over the coordinates."""
    return local_array((N_DOF, N_DOF), float64)


@part
def per_contact():
    """One number per contact."""
    return local_array(N_CONTACTS, float64)


@part
def pairs():
    """Two numbers per contact: normal and tangential."""
    return local_array((N_CONTACTS, 2), float64)


@part
def rows():
    """One row per contact, a number per coordinate in it."""
    return local_array((N_CONTACTS, N_DOF), float64)


@part
def flags():
    """One whole number per contact."""
    return local_array(N_CONTACTS, int64)


@part
def one_number():
    """A number that parts of a step change."""
    return local_array(1, float64)


@part
def one_count():
    """A whole number that parts of a step change."""
    return local_array(1, int64)


@part
def new_step():
    """Room for the velocities of a step."""
    return Step(coordinates(), coordinates(), matrix(), matrix(), coordinates(), coordinates(), coordinates())


@part
def new_implicit():
    """Room for what the schemes other than the midpoint rule need."""
    work = local_array((2, N_DOF), float64)
    return Implicit(coordinates(), coordinates(), coordinates(), matrix(), coordinates(), matrix(), matrix(), work)


@part
def new_directions():
    """Room for the directions of the contacts."""
    diagonal = local_array((N_CONTACTS, 3), float64)
    return Directions(rows(), rows(), pairs(), rows(), rows(), diagonal)


@part
def new_contacts(dv):
    """Room for the contact problem of a step in which forces change the velocities by dv."""
    size = local_array((N_CONTACTS, 3), float64)
    return Contacts(flags(), flags(), pairs(), size, pairs(), pairs(), pairs(), coordinates(), dv)


@part
def new_law():
    """Room for an impact law that is a process of its own."""
    search = local_array(5, float64)
    return ProcessLaw(
        per_contact(), per_contact(), pairs(), pairs(), pairs(), pairs(), per_contact(), coordinates(), search
    )


@part
def new_sections():
    """Room for the sections of friction cones."""
    return local_array((N_CONTACTS, N_SECTION), float64)


@part
def new_lcp():
    """Room for Lemke's method."""
    return Lcp(
        A=local_array((N_LCP, N_LCP_COLUMNS), float64),  # and the covering vector behind it
        b=local_array(N_LCP, float64),
        x=local_array(N_LCP, float64),
        y=local_array(N_LCP, float64),
        scale=local_array(N_LCP, float64),
        rows=local_array(N_LCP, int64),
        part=local_array(N_LCP, int64),
        basis=local_array(N_LCP, int64),
        nonbasic=local_array(N_LCP_COLUMNS, int64),
        row_of=local_array(N_LCP, int64),
        column_of=local_array(N_LCP, int64),
    )


@part
def new_slip():
    """Room for the rounds of friction that depends on slip."""
    return Slip(
        mode=flags(),
        grab=flags(),
        speed=per_contact(),
        end=per_contact(),
        speed_before=per_contact(),
        end_before=per_contact(),
        mu_end=per_contact(),
        static=per_contact(),
        low=per_contact(),
        high=per_contact(),
    )


@part
def new_watch(book):
    """Room for what is watched of a member, begun from its book."""
    least = local_array((2, N_DOF), float64)
    largest = local_array((2, N_DOF), float64)
    return Watch(int64(book[FIRST_WATCHED]), book[LEVEL], least, largest, coordinates(), coordinates())


@part
def new_march(run, kept):
    """Room for all that a march works on; the parameters are copied.

    Of what a march is called with it holds the book and the drift: both are seldom asked for, and on a card a copy
    would take registers from what every step needs.
    """
    step = new_step()
    parameters = local_array(N_PARAMETERS, float64)
    energies = local_array(2, float64)
    return March(
        run=Run(parameters, run.t0, run.dt, run.sweeps, run.tol),
        motion=Motion(coordinates(), coordinates()),
        step=step,
        implicit=new_implicit() if SCHEME != MIDPOINT else None,
        gaps=Gaps(per_contact(), per_contact(), per_contact(), per_contact()),
        directions=new_directions(),
        laws=Laws(per_contact(), per_contact(), per_contact(), per_contact(), new_sections() if SPATIAL else None),
        law=new_law() if LAW != NEWTONS_LAW else None,
        contacts=new_contacts(step.dv),
        memory=Remembered(flags(), per_contact(), pairs(), per_contact(), pairs(), per_contact(), kept.drift),
        lcp=new_lcp() if SOLVER != GAUSS_SEIDEL and not SPATIAL else None,
        slip=new_slip() if FRICTION_LAWS else None,
        rounds=Rounds(one_number(), one_count(), one_number(), one_count()),
        projected=Projected(per_contact(), coordinates(), energies, one_number()) if PROJECTION > 0.0 else None,
        held=new_held() if CONSTRAINED else None,
        watch=new_watch(kept.book) if WATCHED else None,
        tally=local_array(BOOK_SIZE, float64),
        book=kept.book,
    )
