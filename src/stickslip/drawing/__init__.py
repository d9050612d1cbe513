"""How mechanisms and scenes look: shapes in world coordinates, without colours and without a plotting library."""
