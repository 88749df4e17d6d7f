"""The checks that the test run promises are really on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim import metrics, target


def test_types_and_shapes_are_enforced_in_the_package() -> None:
    with pytest.raises(Exception, match="Type-check error"):
        metrics.log_likelihood(np.ones(3), np.ones((2, 4)), np.ones(4))
    with pytest.raises(Exception, match="Type-check error"):
        target.spread("many", 2)  # pyright: ignore[reportArgumentType]


def test_promotion_is_never_silent() -> None:
    with pytest.raises(ValueError, match="rank_promotion"):
        jnp.add(jnp.ones((2, 3)), jnp.ones(3))
    with pytest.raises(Exception, match="promotion"):
        jnp.add(jnp.ones(3, jnp.float32), jnp.ones(3, jnp.float64))
    assert jax.config.read("jax_enable_x64")
