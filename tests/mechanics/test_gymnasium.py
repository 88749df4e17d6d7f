"""Every MJCF that ships inside gymnasium: loads and moves as in MuJoCo, or is refused with the list of why."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest

from plausim.mechanics import load, simulate
from plausim.mechanics.joints import sizes

from .engine import far

package = find_spec("gymnasium")
FILES = sorted((Path(str(package.origin)).parent / "envs/mujoco/assets").glob("*.xml")) if package else []
REFUSED = {  # and what the refusal must name
    "humanoid": ("tendon",),
    "humanoidstandup": ("tendon",),
    "pusher": ("contact between",),
    "pusher_v5": ("contact between",),
    "swimmer": ("fluid",),
}


@pytest.mark.filterwarnings("ignore:.*compiler attribute 'settotalmass' is deprecated")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_agrees_with_mujoco_or_is_refused(file):
    if file.stem in REFUSED:
        with pytest.raises(ValueError) as error:
            load(file)
        assert all(word in str(error.value) for word in REFUSED[file.stem])
        return
    model = load(file)
    compiled = mujoco.MjModel.from_xml_path(str(file))
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data, rng = mujoco.MjData(compiled), np.random.default_rng(0)
    data.qpos[:] += 0.1 * rng.normal(size=compiled.nq)
    data.qvel[:] = 0.1 * rng.normal(size=compiled.nv)
    mujoco.mj_normalizeQuat(compiled, data.qpos)
    ctrl = 0.3 * rng.normal(size=(100, compiled.nu))
    state, rows = np.concatenate([data.qpos, data.qvel]), []
    for control in ctrl:
        data.ctrl[:] = control
        mujoco.mj_step(compiled, data)
        rows.append(np.concatenate([data.qpos, data.qvel]))
    free = load_without_contacts(model)
    assert sizes(model.joints.kind) == (compiled.nq, compiled.nv)
    assert far(simulate(free, state, ctrl), rows) < 1e-8


def load_without_contacts(model):
    return replace(
        model,
        geoms=replace(model.geoms, touch=(), rough=()),
        joints=replace(model.joints, limited=(False,) * len(model.joints.name)),
    )


def test_they_are_there():
    if not FILES:
        pytest.skip("gymnasium is not installed")
    assert len(FILES) >= 12
