"""MuJoCo's C engine, as the truth that models are compared with."""

import jax.numpy as jnp
import mujoco
import numpy as np

from plausim.mechanics import Model, parse
from plausim.mechanics.model import on_device


class Engine:
    """The same file in MuJoCo and in plausim, in the same random state."""

    def __init__(self, text: str, seed: int = 0, speed: float = 1.0, **options):
        self.model: Model = on_device(parse(text, **options))
        self.compiled = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.compiled)
        rng = np.random.default_rng(seed)
        self.set(
            self.data.qpos + 0.5 * rng.normal(size=self.compiled.nq), speed * rng.normal(size=self.compiled.nv),
            rng.normal(size=self.compiled.nu),
        )  # fmt: skip

    def set(self, qpos, qvel, ctrl) -> None:
        self.data.qpos[:], self.data.qvel[:], self.data.ctrl[:] = qpos, qvel, ctrl
        mujoco.mj_normalizeQuat(self.compiled, self.data.qpos)
        mujoco.mj_forward(self.compiled, self.data)

    @property
    def q(self):
        return jnp.asarray(self.data.qpos.copy())

    @property
    def qd(self):
        return jnp.asarray(self.data.qvel.copy())

    @property
    def state(self):
        return jnp.concatenate([self.q, self.qd])

    @property
    def ctrl(self):
        return jnp.asarray(self.data.ctrl.copy())

    def steps(self, count: int) -> np.ndarray:
        """The states after each of so many steps."""
        rows = []
        for _ in range(count):
            mujoco.mj_step(self.compiled, self.data)
            rows.append(np.concatenate([self.data.qpos, self.data.qvel]))
        return np.array(rows)


def far(actual, expected) -> float:
    """The largest difference, relative to the largest number."""
    expected = np.asarray(expected)
    return float(
        np.max(np.abs(np.asarray(actual) - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1e-300)
    )
