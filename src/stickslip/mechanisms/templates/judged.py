"""Template: whether the coefficients of contacts are in their ranges, for whoever sets parameters on the way."""

from stickslip.codes import CONTACT
from stickslip.jit.marks import dev, float64, local_array
from stickslip.laws.scalar import POISSON
from stickslip.mechanisms.templates.model import KINDS, LAW, LAW_NUMBERS, N_CONTACTS, STATE_LAWS, laws


@dev
def out_of_range(p):
    """Whether a coefficient of a contact is out of its range; the steps judge those that depend on the state."""
    mu = local_array(N_CONTACTS, float64)
    eps_N = local_array(N_CONTACTS, float64)
    eps_T = local_array(N_CONTACTS, float64)
    threshold = local_array(N_CONTACTS, float64)
    laws(p, mu, eps_N, eps_T, threshold)
    for k in range(N_CONTACTS):
        if STATE_LAWS:
            continue
        if not (0.0 <= mu[k] < 1e300 and 0.0 <= threshold[k] < 1e300 and 0.0 <= eps_N[k] <= 1.0):
            return True
        if not 0.0 <= eps_T[k] <= 1.0:
            return True
        if LAW == POISSON and KINDS[k] == CONTACT:  # which asks for eps_T <= eps_N
            own_N, own_T = p[LAW_NUMBERS + k], p[LAW_NUMBERS + N_CONTACTS + k]
            if (own_T if own_T == own_T else eps_T[k]) > (own_N if own_N == own_N else eps_N[k]):
                return True
    return False
