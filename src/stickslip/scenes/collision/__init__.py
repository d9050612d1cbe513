"""Which shapes of a scene touch, where and how deep: broad phase, narrow phase by pairs of shapes, judges of both."""
