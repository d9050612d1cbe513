"""Event-driven integration: smooth arcs between events, contact modes, impacts, accumulation points."""
