"""Mechanical systems: what they answer, their derivation from energies, the elements between their parts, steppers."""
