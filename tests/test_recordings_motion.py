"""From a table to a recording: other times, velocities, states; against SciPy, known curves and simulated motion."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter

from plausim import mechanics, recordings
from plausim.mechanics.joints import JOINTS
from plausim.recordings import smoothing
from plausim.recordings.sampling import hold
from plausim.recordings.states import Sampled, Smoothing, speeds

DOUBLE = replace(mechanics.robot("double-pendulum"), integrator="rk4")  # so that velocities are slopes of positions
START = np.array([2.0, 0.5, 0.0, 1.0])


@cache
def whole(step: float = 0.0025) -> recordings.Recording:
    """A second of a swing."""
    model = replace(DOUBLE, timestep=np.array(step))
    return recordings.simulated(model, START, steps=round(1.0 / step))


def moving(steps: int) -> recordings.Recording:
    return recordings.cut(whole(), 0, steps)


def shown_by(model: mechanics.Model, steps: int) -> recordings.Recording:
    """The same swing, by other sensors."""
    truth = moving(steps)
    observed = recordings.observations(model, truth.states, truth.controls)
    return replace(truth, channels=recordings.channels(model), observed=observed, known=np.ones(observed.shape, bool))


def table_of(recording: recordings.Recording, name: str = "log.csv", begin: float = 0.0) -> recordings.Table:
    time = begin + recording.timestep * np.arange(recording.steps + 1)
    shown = np.where(recording.known, recording.observed, np.nan)
    columns = dict(zip(recording.channels, shown.T, strict=True))
    return recordings.Table(name, time, columns)


def changed(table: recordings.Table, **columns: np.ndarray) -> recordings.Table:
    return replace(table, columns=table.columns | columns)


def without(table: recordings.Table, *names: str) -> recordings.Table:
    return replace(table, columns={n: c for n, c in table.columns.items() if n not in names})


# ---- other times


@given(seed=st.integers(0, 10_000), count=st.integers(4, 30))
def test_resampling_is_scipys(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    time = np.cumsum(random.uniform(0.5, 1.5, count))
    values, known = random.standard_normal(count), np.ones(count, bool)
    at = np.sort(random.uniform(time[0], time[-1], 40))
    for how, truth in {"linear": np.interp(at, time, values), "cubic": CubicSpline(time, values)(at)}.items():
        found, sure = recordings.resample(time, values, known, at, how)
        np.testing.assert_allclose(found, truth, rtol=1e-12, atol=1e-12)
        assert sure.all()
    found, sure = recordings.resample(time, values, known, time)
    np.testing.assert_array_equal(found, values)
    assert sure.all()


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_nothing_is_made_up_where_nothing_was_measured(how: str) -> None:
    time, known = np.array([0.0, 1, 2, 3, 4, 8, 9]), np.array([1, 1, 1, 0, 1, 1, 1], bool)
    values = np.where(known, 2.0 * time, np.nan)
    at = np.array([-0.5, 0.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 8.0, 8.5, 9.0, 9.5])
    found, sure = recordings.resample(time, values, known, at, how, gap=2.5)
    np.testing.assert_array_equal(sure, [0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0])
    np.testing.assert_allclose(found, np.where(sure, 2.0 * at, 0.0))


def test_a_control_is_held() -> None:
    held = hold(np.array([0.0, 0.1, 0.3]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.05, 0.1 - 1e-9, 0.2, 0.3, 0.9]))
    np.testing.assert_array_equal(held, [1, 1, 2, 2, 3, 3])


@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=50))
def test_an_angle_is_unwrapped_over_missing_rows(steps: list[float]) -> None:
    truth = np.cumsum(steps)
    known = np.arange(len(truth)) % 3 != 1
    slow = np.interp(np.arange(len(truth)), np.flatnonzero(known), 0.3 * truth[known])  # less than half a turn in two
    wrapped = np.angle(np.exp(1j * slow))
    found = recordings.unwrap(np.where(known, wrapped, np.nan), known)
    np.testing.assert_allclose((found - found[0])[known], (slow - slow[0])[known], atol=1e-9)


# ---- velocities


@pytest.mark.parametrize("window, order", [(15, 4), (7, 2), (5, 4), (31, 5)])
def test_velocities_are_those_of_savitzky_and_golay(window: int, order: int) -> None:
    noisy = np.random.default_rng(1).standard_normal(100)
    found, known = smoothing.velocities(noisy, np.ones(100, bool), 0.01, window, order)
    truth: Any = savgol_filter(noisy, window, order, deriv=1, delta=0.01, mode="interp")
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-8 * np.abs(truth).max())
    assert known.all()


@given(st.lists(st.booleans(), min_size=60, max_size=60), st.integers(0, 4))
def test_a_polynomial_with_holes_gives_its_slope(known: list[bool], power: int) -> None:
    time, mask = 0.01 * np.arange(60), np.array(known)
    found, sure = smoothing.velocities(np.where(mask, time**power, 1e6), mask, 0.01)
    truth = power * time ** max(power - 1, 0)
    np.testing.assert_allclose(found[sure], truth[sure], atol=1e-6)
    assert not (sure & ~mask).any()
    full = smoothing.velocities(time**power, np.ones(60, bool), 0.01)
    np.testing.assert_allclose(full[0], truth, atol=1e-8)


def test_velocity_of_a_sine() -> None:
    time = np.arange(0.0, 2.0, 0.002)
    found, _ = smoothing.velocities(np.sin(7.0 * time), np.ones(len(time), bool), 0.002)
    np.testing.assert_allclose(found, 7.0 * np.cos(7.0 * time), atol=1e-5)


@pytest.mark.parametrize(
    "window, order, message", [(14, 4, "odd window"), (5, 5, "odd window"), (101, 4, "window of 101 rows need")]
)
def test_a_window_that_cannot_be(window: int, order: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        smoothing.velocities(np.zeros(50), np.ones(50, bool), 0.01, window, order)


# ---- simulated recordings


def test_a_simulated_recording_is_the_model_in_motion() -> None:
    truth = whole()
    np.testing.assert_array_equal(truth.states[0], START)
    np.testing.assert_array_equal(truth.states[1:], mechanics.simulate(DOUBLE, START, steps=400))
    np.testing.assert_array_equal(truth.observed, truth.states)  # all sensors are of joints
    assert (truth.steps, truth.timestep, truth.controls.shape) == (400, 0.0025, (400, 0))


def test_noise_is_as_large_as_asked_for_and_leaves_the_states_alone() -> None:
    noisy = recordings.simulated(DOUBLE, START, steps=400, noise={"angle2": 0.02}, seed=3)
    error = noisy.observed - whole().observed
    np.testing.assert_array_equal(error[:, [0, 2, 3]], 0.0)
    np.testing.assert_allclose(error[:, 1].std(), 0.02, rtol=0.15)
    np.testing.assert_array_equal(noisy.states, whole().states)
    shown = recordings.simulated(DOUBLE, START, steps=50, noise=0.01, states="noisy")
    np.testing.assert_array_equal(shown.states, shown.observed)
    with pytest.raises(ValueError, match="noise on angle3; the model's channels are angle1"):
        recordings.simulated(DOUBLE, START, steps=5, noise={"angle3": 1.0})


def test_an_accelerometer_feels_the_control_that_led_there() -> None:
    model = mechanics.parse("""<mujoco><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
        <inertial mass="2" pos="0 0 0" diaginertia="1 1 1"/><site name="s"/></body></worldbody>
        <actuator><motor name="push" joint="rail"/></actuator>
        <sensor><accelerometer name="felt" site="s"/></sensor></mujoco>""")
    forces = np.array([[1.0], [3.0], [-2.0]])
    seen = recordings.simulated(model, np.zeros(2), forces)
    np.testing.assert_allclose(seen.observed[:, 0], np.array([1.0, 1.0, 3.0, -2.0]) / 2.0, atol=1e-12)


# ---- from a table


def test_what_was_simulated_comes_back() -> None:
    truth = moving(100)
    back = recordings.recording(DOUBLE, table_of(truth, begin=17.3), name="back")
    np.testing.assert_allclose(back.observed, truth.observed, atol=1e-9)
    np.testing.assert_allclose(back.states, truth.observed, atol=1e-9)
    assert (back.name, back.channels, back.steps, back.known.all()) == ("back", truth.channels, 100, True)


def test_a_faster_recording_is_thinned() -> None:
    truth = recordings.cut(whole(1e-4), 0, 1000)
    found = recordings.recording(DOUBLE, table_of(truth))
    assert found.steps == 40
    np.testing.assert_allclose(found.observed, truth.observed[::25], atol=1e-9)
    np.testing.assert_allclose(found.states, truth.states[::25], atol=1e-9)


def test_a_slower_recording_counts_once_for_each_row() -> None:
    truth = moving(100)
    table = table_of(truth)
    slow = recordings.Table("slow", table.time[::4], {n: c[::4] for n, c in table.columns.items()})
    found = recordings.recording(DOUBLE, slow)
    assert found.steps == 100
    np.testing.assert_array_equal(np.flatnonzero(found.known.all(1)), np.arange(0, 101, 4))
    assert found.known.sum() == 26 * 4
    np.testing.assert_allclose(found.observed[::4], truth.observed[::4], atol=1e-9)
    np.testing.assert_allclose(found.states, truth.states, atol=0.1)  # between rows they are interpolated


def test_jittered_stamps_of_a_rate_that_is_no_multiple() -> None:
    truth = recordings.cut(whole(1e-4), 0, 5000)
    rows = np.unique(np.linspace(0, 5000, 160).astype(int) + np.random.default_rng(0).integers(-5, 6, 160).clip(0))
    rows = rows[rows <= 5000]
    table = recordings.Table("jitter", 1e-4 * rows, dict(zip(truth.channels, truth.observed[rows].T, strict=True)))
    found = recordings.recording(DOUBLE, table, how="cubic")
    at = np.rint((table.time[0] + 0.0025 * np.arange(found.steps + 1)) / 1e-4).astype(int)
    np.testing.assert_allclose(found.observed[found.known], truth.observed[at][found.known], atol=2e-4)
    np.testing.assert_allclose(found.states, truth.states[at], atol=5e-2)
    assert abs(int(found.known[:, 0].sum()) - len(rows)) <= 3


def test_missing_numbers_are_masked_and_states_go_on() -> None:
    truth = moving(100)
    angle = truth.observed[:, 0].copy()
    angle[40:44] = np.nan
    found = recordings.recording(DOUBLE, changed(table_of(truth), angle1=angle))
    np.testing.assert_array_equal(np.flatnonzero(~found.known[:, 0]), [40, 41, 42, 43])
    assert found.known[:, 1:].all()
    assert (found.observed[40:44, 0] == 0.0).all()
    np.testing.assert_allclose(found.states[:, 0], truth.states[:, 0], atol=2e-3)
    assert "4 of 404 numbers missing" in repr(found)


def test_a_gap_is_masked_with_a_warning() -> None:
    table = table_of(moving(100))
    rows = np.r_[0:30, 50:101]
    torn = recordings.Table("torn", table.time[rows], {n: c[rows] for n, c in table.columns.items()})
    with pytest.warns(UserWarning, match=r"torn has 1 gaps; the longest lasts 0\.0525 s, after row 30 \(0\.0725 s\)"):
        found = recordings.recording(DOUBLE, torn)
    np.testing.assert_array_equal(np.flatnonzero(~found.known[:, 0]), np.arange(30, 50))
    assert found.steps == 100
    assert recordings.recording(DOUBLE, torn, gap=0.1).known.all()  # as told


def test_velocities_out_of_angles_that_jump() -> None:
    truth = whole()
    angles = truth.observed[:, :2] + 2.5  # past half a turn at the start
    wrapped = changed(
        without(table_of(truth), "rate1", "rate2"),
        angle1=np.angle(np.exp(1j * angles[:, 0])),
        angle2=np.angle(np.exp(1j * angles[:, 1])),
    )
    found = recordings.recording(DOUBLE, wrapped, unwrap=("angle1", "angle2"), velocities="savgol")
    np.testing.assert_allclose(np.diff(found.observed[:, :2], axis=0), np.diff(angles, axis=0), atol=1e-9)
    np.testing.assert_allclose(found.observed[:, 2:], truth.observed[:, 2:], atol=0.05)
    slope: Any = savgol_filter(found.observed[:, 0], 15, 4, deriv=1, delta=0.0025)
    np.testing.assert_allclose(found.observed[:, 2], slope, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.states[:, 2:], found.observed[:, 2:], atol=1e-9)
    with pytest.warns(UserWarning, match=r'angle1 jumps by about a full turn .*unwrap=\("angle1",\)'):
        recordings.recording(DOUBLE, wrapped, unwrap=("angle2",), velocities="savgol")


def test_a_channel_that_was_not_measured() -> None:
    truth = moving(100)
    found = recordings.recording(DOUBLE, without(table_of(truth), "rate2"), sensors={"rate2": None})
    assert not found.known[:, 3].any()
    assert found.known[:, :3].all()
    np.testing.assert_allclose(found.states[:, 3], truth.states[:, 3], atol=0.05)


# ---- controls


CART = mechanics.robot("cartpole")


def cart_table(actuators: tuple[str, ...], steps: int = 60) -> tuple[recordings.Recording, recordings.Table]:
    controls = np.random.default_rng(0).uniform(-1, 1, (steps, len(actuators)))
    truth = recordings.simulated(CART, mechanics.start(CART), controls)
    padded = np.concatenate([controls, controls[-1:]])
    return truth, changed(table_of(truth), **{f"cmd_{a}": padded[:, i] for i, a in enumerate(actuators)})


def test_controls_are_found_by_name_and_held() -> None:
    names = CART.actuators.name
    truth, table = cart_table(names)
    found = recordings.recording(CART, table, controls={name: f"cmd_{name}" for name in names})
    np.testing.assert_allclose(found.controls, truth.controls)
    assert (recordings.recording(CART, table, controls=dict.fromkeys(names, 0.5)).controls == 0.5).all()
    with pytest.raises(ValueError, match=rf"no columns for the actuators {names[0]} .*controls={{actuator: column}}"):
        recordings.recording(CART, table)
    with pytest.raises(ValueError, match="controls names engine, but the model has no such actuator"):
        recordings.recording(CART, table, controls={"engine": 0.0})
    holed = table.columns[f"cmd_{names[0]}"].copy()
    holed[7] = np.nan
    with pytest.raises(ValueError, match=rf"log.csv, row 8, column cmd_{names[0]}: the control is missing"):
        recordings.recording(
            CART, changed(table, **{f"cmd_{names[0]}": holed}), controls={name: f"cmd_{name}" for name in names}
        )


# ---- what does not go together


def refused(message: str, table: recordings.Table, **options: object) -> None:
    with pytest.raises(ValueError, match=message):
        recordings.recording(DOUBLE, table, **options)  # pyright: ignore[reportArgumentType]


def test_recording_and_model_that_do_not_match() -> None:
    table = table_of(moving(30))
    renamed = recordings.Table("log.csv", table.time, {"q1": table.columns["angle1"], "q2": table.columns["angle2"]})
    refused(r"log.csv has no columns for the channels angle1, angle2, rate1, rate2 .*it has q1, q2.*sensors=", renamed)
    refused(r"channels rate1, rate2 .*velocities='savgol'", renamed, sensors={"angle1": "q1", "angle2": "q2"})
    refused(r"sensors names angle3, but .*did you mean angle", table, sensors={"angle3": "q"})
    refused(r"channels angle1 \(from q\)", table, sensors={"angle1": "q"})
    refused(r"no column w for rate1", table, sensors={"rate1": "w"}, velocities="savgol")
    refused(r"unwrap names angle, but", table, unwrap=("angle",))
    refused(r"velocities is 'given' or 'savgol', not 'diff'", table, velocities="diff")
    refused(r"start is 'given' or 'estimated'", table, start="zero")
    refused(r'resampling is "linear" or "cubic"', table, how="spline")
    refused(r"window of 101 rows need", without(table, "rate1"), velocities="savgol", smooth=(101, 4))


def test_length_and_rate() -> None:
    table = table_of(moving(30))
    one = recordings.Table("one", table.time[:1], {n: c[:1] for n, c in table.columns.items()})
    refused("one has 1 row; a motion takes two", one)
    refused(
        r"lasts 7.5e-05 s with its 31 rows, less than one step .*in seconds\?", replace(table, time=table.time / 1e3)
    )
    refused(r"lasts 75000 s, 3e\+07 steps .*in seconds\?", replace(table, time=table.time * 1e6))
    with pytest.warns(UserWarning, match=r"a row every 2.5 s.*a step every 0.0025 s: only one step in 1000.*seconds\?"):
        recordings.recording(DOUBLE, replace(table, time=table.time * 1e3))


def test_a_start_that_is_not_known() -> None:
    table = table_of(moving(30))
    late = np.r_[[np.nan] * 3, table.columns["angle2"][3:]]
    refused("position of elbow is not known at the start.*sample 3 is the first", changed(table, angle2=late))


# ---- states out of places


def looking(model: mechanics.Model, *sensors: tuple[str, str, int]) -> mechanics.Model:
    from plausim.mechanics.model import Sensor

    return replace(model, sensors=tuple(Sensor(*s) for s in sensors))


def site(model: mechanics.Model, name: str) -> int:
    return model.sites.name.index(name)


def test_angles_out_of_the_places_of_two_sites() -> None:
    seen = looking(DOUBLE, ("elbow", "framepos", site(DOUBLE, "middle")), ("tip", "framepos", site(DOUBLE, "tip")))
    truth = shown_by(seen, 60)
    found = recordings.recording(seen, table_of(truth))
    np.testing.assert_allclose(found.states[:, :2], truth.states[:, :2], atol=1e-7)
    np.testing.assert_allclose(found.states[:, 2:], truth.states[:, 2:], atol=2e-3)
    holed = truth.observed[:, 3:].copy()
    holed[30:33] = np.nan
    table = changed(table_of(truth), **{f"tip.{i}": holed[:, i] for i in range(3)})
    np.testing.assert_allclose(recordings.recording(seen, table).states[:, :2], truth.states[:, :2], atol=2e-3)


def test_two_ways_to_bend_need_a_guess() -> None:
    tip = looking(DOUBLE, ("tip", "framepos", site(DOUBLE, "tip")))
    truth = shown_by(tip, 20)
    with pytest.raises(ValueError, match=r"several positions of the joints explain .*guess=.*joint:NAME"):
        recordings.recording(tip, table_of(truth))
    found = recordings.recording(tip, table_of(truth), guess=np.array([2.1, 0.3, 0.0, 0.0]))
    np.testing.assert_allclose(found.states[:, :2], truth.states[:, :2], atol=1e-6)


def test_joints_that_no_sensor_shows_are_named_and_can_be_given() -> None:
    middle = looking(DOUBLE, ("middle", "framepos", site(DOUBLE, "middle")))
    truth = shown_by(middle, 60)
    with pytest.raises(ValueError, match=re.escape("positions of elbow cannot be told")):
        recordings.recording(middle, table_of(truth))
    states = {f"joint:{n}": truth.states[:, i] for i, n in enumerate(DOUBLE.joints.name)}
    states |= {f"jointvel:{n}": truth.states[:, 2 + i] for i, n in enumerate(DOUBLE.joints.name)}
    found = recordings.recording(middle, changed(table_of(truth), **states))
    np.testing.assert_allclose(found.states, truth.states, atol=1e-9)


FREE = """<mujoco><option gravity="0 0 -1" integrator="RK4"/><worldbody>
    <body name="box" pos="0 0 1"><freejoint name="float"/>
    <inertial mass="1" pos="0 0 0" diaginertia="0.1 0.2 0.25"/><site name="marker" pos="0.1 0 0.05" euler="0 20 40"/>
    <body name="arm" pos="0.2 0 0"><joint name="swivel" type="ball"/>
    <inertial mass="0.3" pos="0 0.1 0" diaginertia="0.02 0.01 0.02"/><site name="hand" pos="0 0.2 0"/></body>
    </body></worldbody><sensor><framepos name="place" objtype="site" objname="marker"/>
    <framequat name="turn" objtype="site" objname="marker"/>
    <ballquat name="swing" joint="swivel"/><ballangvel name="spin" joint="swivel"/></sensor></mujoco>"""


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_steady_spin_has_one_velocity(kind: str) -> None:
    spin, time = np.array([3.0, -8.0, 5.0]), 0.01 * np.arange(40)
    angle, axis = np.linalg.norm(spin), spin / np.linalg.norm(spin)
    turn = np.concatenate([np.cos(angle * time / 2)[:, None], np.sin(angle * time / 2)[:, None] * axis], axis=1)
    place = np.stack([0 * time, 2.0 * time, time**2], axis=1)
    known = (np.arange(40) < 20) | (np.arange(40) > 22)
    flips = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)[:, None] * np.where(known, 1.0, 0.0)[:, None]
    positions = {"ball": turn * flips, "free": np.concatenate([place, turn * flips], axis=1)}[kind]
    found = speeds(kind, Sampled(positions, known), 0.01, Smoothing())
    np.testing.assert_array_equal(found.known, known)
    truth = np.tile(spin, (40, 1))
    if kind == "free":
        truth = np.concatenate([np.stack([0 * time, 2.0 + 0 * time, 2.0 * time], axis=1), truth], axis=1)
    np.testing.assert_allclose(found.values[known], truth[known], atol=1e-9)


@pytest.mark.slow
def test_a_free_body_and_a_ball_that_tumble() -> None:
    model = mechanics.parse(FREE)
    start = mechanics.start(model)
    start[model_velocities(model)] = [0.1, 0.2, 0.3, 3.0, -2.0, 4.0, 5.0, 1.0, -2.0]
    truth = recordings.simulated(model, start, steps=300)
    table = table_of(truth)
    flips = np.where(np.arange(301) % 7 < 3, -1.0, 1.0)  # both signs of a quaternion are one turn
    table = changed(table, **{f"turn.{i}": flips * table.columns[f"turn.{i}"] for i in range(4)})
    found = recordings.recording(model, table)
    assert (found.observed[:, 3] >= 0).all()
    np.testing.assert_allclose(found.observed, truth.observed, atol=1e-9)
    ways = np.array([mechanics.difference(model.joints.kind, jnp.asarray(a), jnp.asarray(b))
                     for a, b in zip(truth.states[::10], found.states[::10], strict=True)])  # fmt: skip
    np.testing.assert_allclose(ways[:, :9], 0.0, atol=1e-6)
    np.testing.assert_allclose(ways[:, 9:], 0.0, atol=2e-3)  # velocities of the free joint are slopes
    bare = without(table, *(f"spin.{i}" for i in range(3)))
    made = recordings.recording(model, bare, velocities="savgol")
    np.testing.assert_allclose(made.observed[:, 11:], truth.observed[:, 11:], atol=2e-3)


def model_velocities(model: mechanics.Model) -> slice:
    return slice(sum(JOINTS[k].positions for k in model.joints.kind), None)


# ---- parts


@given(first=st.integers(0, 28), length=st.integers(1, 30))
def test_a_cut_is_the_motion_from_there(first: int, length: int) -> None:
    swing, last = moving(30), first + length
    if last > swing.steps:
        with pytest.raises(ValueError, match=f"samples 0 to 30; there is no motion from {first} to {last}"):
            recordings.cut(swing, first, last)
        return
    part = recordings.cut(swing, first, last)
    assert part.steps == length
    np.testing.assert_array_equal(part.observed, swing.observed[first : last + 1])
    np.testing.assert_array_equal(part.states[0], swing.states[first])


def test_a_split_shares_one_sample() -> None:
    (train,), (held,) = recordings.split(moving(30), 0.75)
    assert (train.steps, held.steps) == (22, 8)
    np.testing.assert_array_equal(train.states[-1], held.states[0])
    assert held.name == "simulated, held out"
    pair = [replace(moving(30), name="a"), replace(moving(30), name="b")]
    assert [[r.name for r in part] for part in recordings.split(pair, ["b"])] == [["b"], ["a"]]
    with pytest.raises(ValueError, match="no recording c to infer from; there are a, b"):
        recordings.split(pair, ["c"])
    with pytest.raises(ValueError, match="share of 1 of the 30 steps of simulated leaves one part empty"):
        recordings.split(moving(30), 1.0)


def test_a_recording_knows_its_length() -> None:
    with pytest.raises(ValueError, match=r"29 rows of controls.*needs 30 samples; it has 31 rows of observed"):
        replace(moving(30), controls=moving(30).controls[:-1])
