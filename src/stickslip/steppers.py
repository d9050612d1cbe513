"""Methods that move a system through time, as `stepper=` takes them: small frozen objects with their options."""

from stickslip.events.event_driven import EventDriven
from stickslip.mechanisms.steppers.adaptive import Adaptive
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.paoli_schatzman import PaoliSchatzman
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle

__all__ = ["Adaptive", "EventDriven", "MoreauJean", "MoreauMidpoint", "PaoliSchatzman", "StewartTrinkle"]
