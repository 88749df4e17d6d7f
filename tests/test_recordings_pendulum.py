"""IBM's double pendulum: the files are the published ones, and what is read from them moves as a pendulum does."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import savgol_coeffs, savgol_filter

from plausim import mechanics, recordings
from plausim.recordings.pendulum import SHA256, marker_noise

DATA = Path(os.environ.get("PLAUSIM_DATA", Path(__file__).parents[2] / "shared" / "data")) / "ibm-double-pendulum"
published = pytest.mark.skipif(
    not (DATA / "0.csv").is_file(),
    reason=f"IBM's double-pendulum-chaotic is not in {DATA}; PLAUSIM_DATA may name the folder that it is in",
)


def write(
    folder: Path, q: np.ndarray, pivot: tuple[float, float] = (1200.0, 1220.0), stray: np.ndarray | float = 0.0
) -> None:
    """Markers where two arms of 1e6 and 5e5 units put them, or astray of there."""
    down, right = 1e6 * np.cos(q[:, 0]) + pivot[0], 1e6 * np.sin(q[:, 0]) + pivot[1]
    angle = q[:, 0] + q[:, 1]
    tip = np.stack([down + 5e5 * np.cos(angle), right + 5e5 * np.sin(angle)], axis=1)
    rows = np.concatenate([np.tile(pivot, (len(q), 1)), np.stack([down, right], axis=1), tip], axis=1)
    np.savetxt(folder / "3.csv", np.rint(rows + stray), fmt="%d", delimiter=",")


def test_angles_are_those_that_the_markers_were_placed_at(tmp_path: Path) -> None:
    time = np.arange(200) / 500.0
    q = np.stack([3.0 + 20.0 * time, 0.5 - 40.0 * time], axis=1)  # several turns, both ways
    write(tmp_path, q)
    found = recordings.double_pendulum(tmp_path, 3, frames=None, verify=False)
    np.testing.assert_allclose(found.observed[:, :2], q, atol=1e-5)
    np.testing.assert_allclose(found.observed[:, 2:], np.tile([20.0, -40.0], (200, 1)), atol=1e-2)
    assert found.channels == recordings.channels(mechanics.robot("double-pendulum"))
    write(tmp_path, np.zeros((30, 2)))
    hanging = recordings.double_pendulum(tmp_path, 3, frames=(2, 12), verify=False)
    assert (hanging.steps, hanging.timestep) == (10, 0.002)
    np.testing.assert_allclose(hanging.states, 0.0, atol=1e-5)


def test_marker_noise_is_that_of_markers_that_stray(tmp_path: Path) -> None:
    """All three stray alike. The arms turn about each other, so that what both owe to the elbow averages out."""
    time = np.arange(6000) / 500.0
    q = np.stack([2.0 * np.sin(3.0 * time), 7.0 * time], axis=1)
    sigma, interior = 2000.0, (20, 5979)
    write(tmp_path, q, stray=sigma * np.random.default_rng(0).normal(size=(6000, 6)))
    found = marker_noise(tmp_path, 3, interior, verify=False)
    angle1, angle2 = found["angle1"], found["angle2"]
    first, second = np.sqrt(2.0) * sigma / np.array([1e6, 5e5])  # an arm strays at both of its ends
    np.testing.assert_allclose([angle1, angle2], [first, np.hypot(first, second)], rtol=0.03)
    weights = np.linalg.norm(savgol_coeffs(15, 4, deriv=1, delta=0.002))
    np.testing.assert_allclose([found["rate1"], found["rate2"]], weights * np.array([angle1, angle2]), rtol=0.05)
    read = recordings.double_pendulum(tmp_path, 3, interior, verify=False).observed[:, :2] - q[20:5980]
    np.testing.assert_allclose(np.std(read, axis=0), [angle1, angle2], rtol=0.05)


def test_marker_noise_of_a_fixed_pivot(tmp_path: Path) -> None:
    """Then the first arm strays at one end only, by no more than its elbow does."""
    q = np.zeros((3000, 2))
    write(
        tmp_path,
        q,
        stray=np.r_[0.0, 0.0, 1.0, 1.0, 0.0, 0.0] * 2000.0 * np.random.default_rng(1).normal(size=(3000, 6)),
    )
    found = marker_noise(tmp_path, 3, (0, 2999), verify=False)
    np.testing.assert_allclose([found["angle1"], found["angle2"]], [2e-3, np.hypot(2e-3, 4e-3)], rtol=0.05)


def test_what_is_wrong_with_the_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no 3\.csv in .*Asseman.*CDLA-Sharing-1\.0.*six integers a row"):
        recordings.double_pendulum(tmp_path, 3)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.*double-pendulum-chaotic"):
        recordings.double_pendulum(tmp_path / "nowhere", 3)
    write(tmp_path, np.zeros((30, 2)))
    with pytest.raises(ValueError, match=rf"3\.csv is not the published file: .* not {SHA256[3]}.*verify=False"):
        recordings.double_pendulum(tmp_path, 3)
    with pytest.raises(ValueError, match=r"samples 0 to 29; there is no motion from 20 to 420"):
        recordings.double_pendulum(tmp_path, 3, verify=False)
    shutil.copy(tmp_path / "3.csv", tmp_path / "20.csv")
    with pytest.raises(ValueError, match="no checksum is known of run 20, only of 0 to 14"):
        recordings.double_pendulum(tmp_path, 20)
    (tmp_path / "3.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"3\.csv does not hold rows of numbers"):
        recordings.double_pendulum(tmp_path, 3, verify=False)
    (tmp_path / "3.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"3\.csv has 2 columns"):
        recordings.double_pendulum(tmp_path, 3, verify=False)


@published
@pytest.mark.parametrize("run", [0, 9, 14])
def test_the_published_files_are_read(run: int) -> None:
    whole = recordings.double_pendulum(DATA, run, frames=None)
    assert 17_284 <= whole.steps + 1 <= 18_337
    assert (np.abs(whole.states[:, 2:]).max(axis=0) < [38.0, 95.0]).all()  # as measured on all runs
    truth: Any = savgol_filter(whole.observed[:, :2], 15, 4, deriv=1, delta=0.002, axis=0)
    np.testing.assert_allclose(whole.observed[:, 2:], truth, atol=1e-8)
    part = recordings.double_pendulum(DATA, run)
    np.testing.assert_array_equal(part.states, whole.states[20:421])


@published
@pytest.mark.parametrize("run", [2, 5, 11])
def test_a_pendulum_of_known_ratios_moves_as_recorded(run: int) -> None:
    """Rigid links with A/C = 9.66, B/C = 0.735, D/E = 9.8 and the published length of 91 mm, at 500 frames a second."""
    model = mechanics.robot("double-pendulum")
    b, j, length = model.bodies, model.joints, 0.091
    inertia = np.array([[9.79e-4, 1, 1, 0, 0, 0], [1.12e-4, 1, 1, 0, 0, 0]])
    model = replace(
        model,
        bodies=replace(
            b, mass=np.array([0.5, 0.1]), com=np.array([[0, 0, -0.0504], [0, 0, -0.035]]), inertia=inertia,
            pos=np.array([[0, 0, 0], [0, 0, -length]]),
        ),
        joints=replace(j, damping=np.array([0.0, 2.5e-5]), frictionloss=np.array([0.0, 2.5e-4])),
        timestep=np.array(0.002), integrator="rk4",
    )  # fmt: skip
    part = recordings.double_pendulum(DATA, run, frames=(20, 80))
    moved = np.asarray(mechanics.simulate(model, part.states[0], steps=part.steps))
    misfit = np.sqrt(np.mean((moved[:, :2] - part.observed[1:, :2]) ** 2))
    assert misfit < 0.05  # rad, over a motion of more than one
    assert np.ptp(part.observed[:, 0]) > 1.0
