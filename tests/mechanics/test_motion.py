"""What `plausim simulate` does, robot by robot: it moves, is drawn, and says what happened."""

import numpy as np
import pytest
from typer.testing import CliRunner

from plausim.cli import app
from plausim.mechanics import ROBOTS, parse, robot, save
from plausim.studies import motion

FREE = '<mujoco><worldbody><body name="b"><freejoint name="f"/><geom size="0.1"/></body></worldbody></mujoco>'


FAST = ("pendulum", "hopper")


@pytest.mark.parametrize("name", [r if r in FAST else pytest.param(r, marks=pytest.mark.slow) for r in ROBOTS])
def test_every_robot_is_drawn(name, tmp_path):
    model = robot(name)
    plan = motion.plan(model, 0.02, {}, {})
    done = motion.run(model, plan)
    motion.draw(done, name, tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 10_000
    bones = motion.skeleton(done).bones
    assert np.all(np.isfinite(bones)) and bones.shape[0] == len(done.time)


def test_the_skeleton_is_where_the_robot_is():
    """A pendulum of 1 m at 90 degrees: from the pivot to the tip, along y."""
    model = robot("pendulum")
    done = motion.run(model, motion.plan(model, 0.005, {"pivot": np.pi / 2}, {}))
    np.testing.assert_allclose(motion.skeleton(done).bones[0, 0], [[0, 0, 0], [0, 1, 0]], atol=1e-12)


def test_a_quaternion_without_length_is_no_turn():
    model = parse(FREE)
    with pytest.raises(ValueError, match=r"f starts with the quaternion 0 0 0 0.*f\.qw=1"):
        motion.plan(model, 1.0, {"f.qw": 0.0}, {})


def test_a_robot_without_joints_says_so():
    still = parse('<mujoco><worldbody><body name="b"><geom size="0.1"/></body></worldbody></mujoco>')
    done = motion.run(still, motion.plan(still, 0.01, {}, {}))
    assert motion.summary(done, "still").endswith("nothing moved: it has no joints.")


def test_what_mujoco_warns_of_is_a_line(tmp_path):
    file = tmp_path / "old.xml"
    save(robot("pendulum"), file)
    file.write_text(file.read_text().replace("<compiler", '<compiler settotalmass="2"'))
    result = CliRunner().invoke(app, ["parameters", str(file), "--match", "rod.mass"])
    assert result.exit_code == 0
    assert result.stderr.startswith(f"plausim: warning: {file}: compiler attribute 'settotalmass' is deprecated")
    assert len(result.stderr.splitlines()) == 1 and result.stdout == "rod.mass\t2\tkg\n"
