"""How fast `plausim.fuse` is, beside what else computes the same rollouts. Each module runs with `python -m`."""
