"""The double pendulum against its Lagrangian, and the fit against the truth it was made from."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from plausim.studies import link_lengths as study


def energy(lengths: jax.Array, q: jax.Array, v: jax.Array, sign: float = 1.0) -> jax.Array:
    """Kinetic plus potential energy from the positions of the two masses; with sign -1 the Lagrangian."""

    def positions(q: jax.Array) -> jax.Array:
        links = lengths[:, None] * jnp.stack([jnp.sin(q), -jnp.cos(q)], axis=1)
        return jnp.cumsum(links, axis=0)

    masses = jnp.asarray(study.MASSES)
    speeds = jax.jvp(positions, (q,), (v,))[1]
    kinetic = 0.5 * jnp.sum(masses * jnp.sum(speeds**2, axis=1))
    return kinetic + sign * study.GRAVITY * jnp.sum(masses * positions(q)[:, 1])


@jax.jit
def lagrange(lengths: jax.Array, q: jax.Array, v: jax.Array) -> jax.Array:
    """The accelerations that the Euler-Lagrange equations ask for."""

    def lagrangian(q: jax.Array, v: jax.Array) -> jax.Array:
        return energy(lengths, q, v, sign=-1.0)

    inertia = jax.hessian(lagrangian, argnums=1)(q, v)
    coriolis = jax.jacfwd(jax.grad(lagrangian, argnums=1), argnums=0)(q, v) @ v
    return jnp.linalg.solve(inertia, jax.grad(lagrangian)(q, v) - coriolis)


@pytest.mark.parametrize("seed", range(5))
def test_accelerations_satisfy_lagrange(seed: int) -> None:
    lengths, q, v = jnp.asarray(np.random.default_rng(seed).uniform(0.5, 3.0, (3, 2)))
    found = study.accelerations(lengths, jnp.concatenate([q, v]))
    assert_allclose(found, lagrange(lengths, q, v), rtol=1e-11)


def test_energy_error_shrinks_with_the_time_step(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = jnp.asarray(study.TRUTH)
    start = jnp.asarray(study.START)

    def worst(timestep: float) -> float:
        monkeypatch.setattr(study, "TIMESTEP", timestep)
        states = study.simulate(round(2.0 / timestep), lengths)
        energies = jax.vmap(energy, in_axes=(None, 0, 0))(lengths, states[:, :2], states[:, 2:])
        return float(jnp.max(jnp.abs(energies - energy(lengths, start[:2], start[2:]))))

    assert worst(0.01) / worst(0.005) == pytest.approx(2.0, rel=0.1)  # first order, as semi-implicit Euler is


def test_log_likelihood_is_the_normal_density_of_the_residuals() -> None:
    from scipy.stats import norm

    lengths = jnp.asarray([1.2, 1.7])
    recording = study.record(jax.random.key(1), 30)
    expected = norm.logpdf(recording, study.simulate(30, lengths), study.NOISE).sum()
    assert_allclose(study.log_likelihood(lengths, recording), expected, rtol=1e-12)


def test_sobol_starts_are_distinct_and_inside() -> None:
    for particles in (1, 2, 63, 64, 100):
        points = study.sobol(particles)
        assert points.shape == (particles, 2)
        assert len(np.unique(points, axis=0)) == particles
        assert np.all((points > 0) & (points < 1))


def test_the_fit_finds_the_truth(tmp_path: Path) -> None:
    result = study.run(particles=16, steps=200, seed=3)
    assert_allclose(result.path[-1, result.best], study.TRUTH, atol=0.02)
    assert result.found.sum() > 8
    rms = np.sqrt(np.mean(((result.after - result.recording) / np.asarray(study.NOISE)) ** 2))
    assert rms == pytest.approx(1.0, abs=0.1)
    assert np.nanmin(result.misfit) == pytest.approx(rms, rel=0.05)
    study.draw(result, tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
