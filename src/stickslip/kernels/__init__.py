"""The compiled core: templates with the loops, and the generator that puts a system's equations into them."""
