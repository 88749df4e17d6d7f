"""What a run found: in numbers, in ArviZ's schema on disk, and as models that MuJoCo loads."""

from dataclasses import replace
from pathlib import Path

import arviz_base
import mujoco
import numpy as np
import pytest
import xarray

from plausim import mechanics, results
from plausim.parameters import choose, parameter
from plausim.recordings import simulated
from plausim.results import Posterior
from plausim.run import infer
from plausim.samplers import csvgd, svgd
from plausim.shooting import Range, multiple
from plausim.systems import system
from plausim.target import density


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[Posterior, Path]:
    """Of a pendulum, with a hole in its recording and a noise level that is found; as a run left it on disk."""
    model, folder = mechanics.robot("pendulum"), tmp_path_factory.mktemp("run")
    swing = simulated(model, np.array([1.0, 0.0]), np.zeros((20, len(model.actuators.name))), noise=0.01, name="swing")
    known = swing.known.copy()
    known[7, 0] = False
    body, joint = model.bodies.name[0], model.joints.name[0]
    chosen = choose(model, [parameter(f"{body}.mass", 1e-2, 10.0, log=True), parameter(f"{joint}.damping", 0.0, 0.5)])
    noise = dict.fromkeys(swing.channels[1:], 0.02) | {swing.channels[0]: Range(0.001, 0.1)}
    target = multiple(system(chosen), [replace(swing, known=known)], noise, windows=2)
    return infer(target, csvgd(), particles=9, iterations=12, draws=7, directory=folder), folder / "posterior.nc"


def test_the_summary_is_of_the_draws(found) -> None:
    posterior, _ = found
    for i, row in enumerate(posterior.summary()):
        column = posterior.values[:, i]
        assert row["parameter"] == posterior.names[i] and row["unit"] == posterior.units[i]
        expected = [column.mean(), column.std(), *np.percentile(column, [5, 50, 95])]
        np.testing.assert_allclose([row[k] for k in ("mean", "sd", "5 %", "median", "95 %")], expected)
        assert row["lower limit"] <= column.min() and column.max() <= row["upper limit"]
    assert posterior.names[-1] == "noise.angle"
    np.testing.assert_allclose([row["lower limit"], row["upper limit"]], [0.001, 0.1])


def test_the_best_is_the_draw_of_highest_density(found) -> None:
    posterior, _ = found
    row = int(np.argmax(posterior.logdensity))
    assert posterior.best() == dict(zip(posterior.names, posterior.values[row], strict=True))
    spoilt = replace(posterior, logdensity=np.where(np.arange(7) == row, np.nan, posterior.logdensity))
    assert spoilt.best() != posterior.best()


def test_models_are_what_was_drawn(found, tmp_path: Path) -> None:
    """MuJoCo compiles each file, and has the numbers of one of the draws in it."""
    posterior, _ = found
    models = posterior.models(5, tmp_path / "models", seed=1)
    files = sorted((tmp_path / "models").iterdir())
    assert [f.name for f in files] == [f"model{i}.xml" for i in range(5)]
    masses = []
    for file, model in zip(files, models, strict=True):
        compiled = mujoco.MjModel.from_xml_path(str(file))
        mass, damping = float(compiled.body_mass[1]), float(compiled.dof_damping.ravel()[0])
        near = np.isclose(posterior.values[:, :2], [mass, damping], rtol=1e-6, atol=1e-12).all(1)
        assert near.sum() == 1
        np.testing.assert_allclose(model.bodies.mass[0], mass, rtol=1e-6)
        masses.append(mass)
    assert len(set(masses)) == 5  # each draw once, as long as there are enough
    assert len(posterior.models(20)) == 20
    with pytest.raises(ValueError, match="0 models were asked for"):
        posterior.models(0)


def same(one: Posterior, other: Posterior) -> None:
    for name in ("names", "units", "stages"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("limits", "values", "logdensity", "gaps", "trail"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.history.keys() == other.history.keys()
    for name, column in one.history.items():
        np.testing.assert_array_equal(column, other.history[name])


def test_it_comes_back_from_disk_as_it_was(found) -> None:
    posterior, file = found
    again = results.read(file)
    same(posterior, again)
    ours, theirs = posterior.predictions, again.predictions
    assert ours is not None and theirs is not None
    assert (ours.recordings, ours.channels) == (theirs.recordings, theirs.channels) == (("swing",), ours.channels)
    np.testing.assert_array_equal(ours.known, theirs.known)
    assert not ours.known[0, 6, 0] and ours.known.sum() == ours.known.size - 1
    np.testing.assert_array_equal(np.where(ours.known, ours.observed, 0.0), theirs.observed)
    np.testing.assert_array_equal(ours.predicted, theirs.predicted)
    assert again.attributes["method"] == "csvgd" and again.attributes["seed"] == 0
    with pytest.raises(ValueError, match="is of no model of ours"):
        again.models(1)


def test_arviz_opens_it(found) -> None:
    posterior, file = found
    tree = xarray.open_datatree(file, engine="h5netcdf").load()
    tree.close()
    assert {"posterior", "posterior_predictive", "observed_data", "sample_stats"} <= set(tree.children)
    assert tree["posterior"].sizes == {"chain": 1, "draw": 7}
    array = arviz_base.extract(tree, group="posterior", keep_dataset=True)[posterior.names[0]]
    np.testing.assert_array_equal(np.asarray(array), posterior.values[:, 0])
    assert tree["posterior"][posterior.names[0]].attrs["units"] == posterior.units[0]
    assert tree["sample_stats"]["lp"].shape == (1, 7)
    predicted, observed = tree["posterior_predictive"]["motion"], tree["observed_data"]["motion"]
    assert predicted.dims == ("chain", "draw", *observed.dims) and observed.dims == ("recording", "time", "channel")
    assert np.isnan(np.asarray(observed)[0, 6, 0]) and np.isfinite(np.asarray(observed)).sum() == observed.size - 1


def test_a_density_without_motion(tmp_path: Path) -> None:
    posterior = infer(density(lambda x: -x @ x, [-1.0], [1.0]), svgd(), particles=4, iterations=3, directory=tmp_path)
    again = results.read(tmp_path / "posterior.nc")
    same(posterior, again)
    assert again.predictions is None


def test_files_that_are_no_result(found, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no result .*; the run may not have ended"):
        results.read(tmp_path / "posterior.nc")
    whole = found[1].read_bytes()
    for name, contents in {"empty": b"", "half": whole[: len(whole) // 2], "text": b"hello"}.items():
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(
            ValueError, match=r"cannot be read \(.*\); delete it, and `plausim resume .*` writes it again"
        ):
            results.read(tmp_path / name)
    xarray.DataTree.from_dict({"posterior": xarray.Dataset()}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="has schema None, this plausim reads 1; run the inference again"):
        results.read(tmp_path / "other.nc")


def test_an_old_result_stays_until_the_new_one_is_whole(found, tmp_path: Path, monkeypatch) -> None:
    posterior, _ = found
    results.write(posterior, tmp_path / "posterior.nc")

    def stopped(*arguments, **others):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", stopped)
    with pytest.raises(KeyboardInterrupt):
        results.write(replace(posterior, values=0.0 * posterior.values), tmp_path / "posterior.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["posterior.nc"]
    same(results.read(tmp_path / "posterior.nc"), posterior)
