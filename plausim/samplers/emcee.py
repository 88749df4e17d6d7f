"""The affine-invariant ensemble (Goodman and Weare 2010) of emcee: walkers that stretch towards and past each other.

Half of the walkers move at once, so an iteration is two launches. The draws are the ensemble. Needs no gradients.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.target import Number, Points, Target

from .chains import begun, within
from .extras import need
from .protocol import Info, Key, Method, Sampler
from .svgd import drawn


class State(NamedTuple):
    points: Points
    logdensity: Float[Array, " particles"]
    lost: Number  # starts without density that no iteration has reported yet


def emcee(stretch: float = 2.0) -> Method:
    """The stretch move; limits are kept by rejection, constraints are not known.

    Args:
        stretch: by which factor a walker's distance from another one may grow or shrink in one move: emcee's a.

    """
    if not stretch > 1:
        raise ValueError(f"stretch is {stretch:g}; it is a factor above 1, such as 2.")
    need("emcee", "emcee", "emcee")

    def make(target: Target, iterations: int) -> Sampler:
        from emcee.model import Model
        from emcee.moves import StretchMove
        from emcee.state import State as Ensemble

        move = StretchMove(a=stretch)
        logdensity = jax.jit(within(target))

        @jax.jit
        def init(key: Key, points: Points) -> State:
            if len(points) < 2 * target.dimensions:
                raise ValueError(
                    f"emcee's walkers move along the lines between them: {len(points)} particles are too few for "
                    f"{target.dimensions} coordinates; use at least {2 * target.dimensions}, or fewer windows."
                )
            points, lost = begun(key, target, points, len(points))
            return State(points, logdensity(points), lost)

        def step(key: Key, state: State) -> tuple[State, Info]:
            dtype = state.points.dtype

            def several(points: np.ndarray) -> tuple[np.ndarray, None]:
                return np.asarray(logdensity(jnp.asarray(points, dtype)), float), None

            random = np.random.RandomState(np.asarray(jax.random.bits(key, (4,), "uint32")))
            before = Ensemble(np.array(state.points, float), log_prob=np.array(state.logdensity, float))
            with np.errstate(invalid="ignore"):  # from nowhere to nowhere
                after, accepted = move.propose(Model(None, several, map, random), before)
            found = np.asarray(after.log_prob)
            numbers = {
                "logdensity": np.mean(found),
                "best": np.max(found),
                "acceptance": np.mean(accepted),
                "simulations": len(accepted),
                "lost": state.lost,
            }
            state = State(*(jnp.asarray(x, dtype) for x in (after.coords, found, 0.0)))
            return state, {name: jnp.asarray(number, dtype) for name, number in numbers.items()}

        return Sampler("emcee", init, step, lambda key, state, n: drawn(key, target, state.points, n), traced=False)

    return Method("emcee", {"stretch": stretch}, make, gradients=False)
