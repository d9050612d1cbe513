"""Runs: `simulate` marches any engine through time, keeps records and checkpoints, and says why a run ended."""
