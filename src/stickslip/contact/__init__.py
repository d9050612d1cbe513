"""The contact problem of a step or an impact: one problem type, its residual, its methods, the ladder `auto`."""
