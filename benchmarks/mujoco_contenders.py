"""MuJoCo's C engine with finite differences over the parameters, and MJX, its JAX edition."""

import copy
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.mujoco_models import MUJOCO_MODELS
from benchmarks.native import Unavailable, optional
from benchmarks.problems import Problem

mujoco, mujoco_rollout = optional("mujoco"), optional("mujoco.rollout")

NUDGE = 1e-7  # of a parameter, in float64: truncation and rounding about balance


def require(package: object, problem: Problem, name: str) -> None:
    if package is None:
        raise Unavailable(f"{name} is not installed")
    if problem.mechanism.name not in MUJOCO_MODELS:
        raise Unavailable(f"no MuJoCo model of the {problem.mechanism.name}")


def compiled(name: str):
    """MuJoCo's model of the mechanism, under the nominal parameters."""
    return mujoco.MjModel.from_xml_string(MUJOCO_MODELS[name].file)


def model_with(template, data, name: str, theta: np.ndarray):
    """A copy of a compiled model under other parameters, its derived constants brought up to date."""
    model = copy.copy(template)
    for field, array in MUJOCO_MODELS[name].fields(model, theta, np).items():
        getattr(model, field)[:] = array
    mujoco.mj_setConst(model, data)
    return model


def finite_differences(problem: Problem) -> Callable:
    """`mujoco.rollout`, one model per set of parameters; for the gradient one further set per parameter, nudged.

    The models are made before the clock starts, which is more than fair.
    """
    require(mujoco, problem, "mujoco")
    name, (lanes, count) = problem.mechanism.name, problem.thetas.shape
    steps, states = problem.reference.shape
    nudges = np.concatenate([np.zeros((1, count)), NUDGE * np.eye(count)]) if problem.gradient else np.zeros((1, count))
    template = compiled(name)
    workers = [mujoco.MjData(template) for _ in range(problem.threads)]
    thetas = (problem.thetas[:, None] + nudges).reshape(-1, count)
    models = [model_with(template, workers[0], name, theta) for theta in thetas]
    start = np.concatenate([[0.0], problem.mechanism.start])[None]  # time, angles, rates
    control = np.tile(MUJOCO_MODELS[name].control, (1, steps, 1)) if template.nu else None
    pool = mujoco_rollout.Rollout(nthread=problem.threads)

    def run() -> tuple[np.ndarray, np.ndarray | None]:
        moved, _ = pool.rollout(models, workers, start, control, nstep=steps)
        losses = np.sum((moved[:, :, 1 : 1 + states] - problem.reference) ** 2, axis=(1, 2)).reshape(lanes, -1)
        slopes = (losses[:, 1:] - losses[:, :1]) / NUDGE if problem.gradient else None
        return losses[:, 0], slopes

    return run


def mjx_scan(problem: Problem) -> Callable:
    """`mjx.step` under jax.lax.scan, the parameters put into the model's arrays, reverse-mode gradient."""
    mjx = optional("mujoco.mjx")  # late: it takes a second and prints what it misses
    require(mjx, problem, "mujoco-mjx")
    chosen = MUJOCO_MODELS[problem.mechanism.name]
    model = mjx.put_model(compiled(problem.mechanism.name))
    angles = len(problem.mechanism.start) // 2

    def loss(theta, start, reference):
        changed = model.replace(**chosen.fields(model, theta, jnp))
        data = mjx.make_data(changed).replace(qpos=start[:angles], qvel=start[angles:])
        data = data.replace(ctrl=jnp.asarray(chosen.control, theta.dtype))

        def advance(carry, target):
            data, total = carry
            data = mjx.step(changed, data)
            state = jnp.concatenate([data.qpos, data.qvel])
            return (data, total + jnp.sum((state - target) ** 2)), None

        return jax.lax.scan(advance, (data, jnp.zeros(())), reference)[0][1]

    one = jax.value_and_grad(loss) if problem.gradient else lambda *arguments: (loss(*arguments), None)
    compute = jax.jit(jax.vmap(one, in_axes=(0, None, None)), compiler_options=chosen.compiler_options)
    values = (problem.thetas, problem.mechanism.start, problem.reference)
    arguments = [jnp.asarray(value, jnp.float32) for value in values]
    return lambda: jax.block_until_ready(compute(*arguments))
