"""Export of mechanisms as Functional Mock-up Units (FMI 3.0, co-simulation), with the compiled kernel inside."""
