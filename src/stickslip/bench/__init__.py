"""The measurements of `stickslip bench`, ours beside the programs of others, and generators of random problems."""
