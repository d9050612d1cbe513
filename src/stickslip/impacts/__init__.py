"""Instantaneous impacts: `ss.impact` for one state, for stacks of states, for several contacts at a time."""
