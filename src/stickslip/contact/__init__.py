"""Frictional contact problems with many contacts: one problem type, every method, one error measure."""
