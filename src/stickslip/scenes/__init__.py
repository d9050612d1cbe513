"""Scenes: bodies with shapes, materials and joints, in the plane and in space."""
