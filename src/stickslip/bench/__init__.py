"""What `stickslip bench` measures, beside the programs of others, and generators of random problems."""
