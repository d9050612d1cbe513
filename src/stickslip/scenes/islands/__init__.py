"""Contact problems of a scene's step, island by island: rows of contacts and joints, dense islands, piles."""
