"""Time stepping: one method per file; `simulate` has the only time loop seen by Python."""
