"""Files in and out: what is refused and how, and that MuJoCo moves a saved file the same way."""

import inspect
import re
from dataclasses import replace
from importlib.resources import files

import jax
import mujoco
import numpy as np
import pytest

from plausim.mechanics import (
    ROBOTS,
    contacting,
    load,
    parse,
    robot,
    robots,
    save,
    simulate,
    start,
    to_mjcf,
    unsupported,
)
from plausim.mechanics.model import on_device
from plausim.mechanics.unsupported import GROUPS

from .engine import far
from .random_trees import tree


def mujoco_states(text: str, state: np.ndarray, ctrl: np.ndarray, steps: int) -> np.ndarray:
    compiled = mujoco.MjModel.from_xml_string(text)
    data, rows = mujoco.MjData(compiled), []
    data.qpos[:], data.qvel[:], data.ctrl[:] = state[: compiled.nq], state[compiled.nq :], ctrl
    for _ in range(steps):
        mujoco.mj_step(compiled, data)
        rows.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(rows)


def changed(model, seed: int):
    """Every number of every kind, by a few percent."""
    rng = np.random.default_rng(seed)
    scaled = lambda leaf: np.asarray(leaf) * (1 + 0.05 * rng.uniform(-1, 1, np.shape(leaf)))  # noqa: E731
    bodies, joints, actuators = model.bodies, model.joints, model.actuators
    return replace(
        model,
        bodies=replace(
            bodies, pos=scaled(bodies.pos), tilt=0.1 * rng.normal(size=bodies.tilt.shape), mass=scaled(bodies.mass),
            com=scaled(bodies.com), inertia=scaled(bodies.inertia),
        ),
        joints=replace(
            joints, pos=scaled(joints.pos), damping=scaled(joints.damping), stiffness=scaled(joints.stiffness),
            armature=scaled(joints.armature), springref=scaled(joints.springref), ref=scaled(joints.ref),
        ),
        actuators=replace(
            actuators, gear=scaled(actuators.gear), gain=scaled(actuators.gain), bias=scaled(actuators.bias),
            ctrlupper=scaled(actuators.ctrlupper),
        ),
        gravity=scaled(model.gravity), timestep=scaled(model.timestep),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_round_trip(seed, tmp_path):
    """Load, change everything, save: MuJoCo moves the saved file as plausim moves the model."""
    model = changed(parse(tree(seed, 4, kinds=("hinge", "slide", "universal", "ball", "fixed", "free"))), seed)
    save(model, tmp_path / "changed.xml")
    text = (tmp_path / "changed.xml").read_text()
    ctrl = np.linspace(-0.5, 0.5, len(model.actuators.name))
    begin = start(model)
    found = simulate(model, begin, np.tile(ctrl, (50, 1)))
    assert far(found, mujoco_states(text, begin, ctrl, 50)) < 1e-9


WRITTEN = {  # robots in ways of writing that MuJoCo's own writer keeps, or undoes
    "frames": """<mujoco><default><default class="x"><joint damping="3"/><geom size="0.3"/></default></default>
    <worldbody><frame pos="0 0 1" euler="10 20 30" childclass="x"><body name="a"><joint axis="1 0 0"/><geom/>
      <frame pos="0.1 0 0" euler="0 40 0"><geom type="box" size="0.1 0.2 0.3" pos="0 0 1"/><camera pos="0 0 1"/>
        <frame euler="50 0 0"><geom type="capsule" fromto="0 0 0 0.3 0.2 0.1" size="0.1"/></frame>
        <site name="s" pos="0.1 0.2 0.3" euler="10 0 0"/>
        <body name="b" pos="0.1 0 0"><joint axis="0 1 0"/><geom/></body></frame>
      <geom size="0.7" pos="0.3 0 0"/></body></frame></worldbody>
    <sensor><framepos objtype="site" objname="s"/></sensor></mujoco>""",
    "copies": """<mujoco><worldbody><replicate count="3" offset="1 0 0"><body pos="0 0 1"><joint axis="0 1 0"/>
    <geom size="0.1" pos="0.1 0 0"/></body></replicate></worldbody></mujoco>""",
    "defaults": """<mujoco><compiler angle="degree"/><default><joint damping="2" armature="0.3"/>
    <default class="x"><joint damping="5"/><position kp="7" kv="1"/></default></default>
    <worldbody><body euler="10 20 30"><geom size="0.1" pos="0.1 0 0"/>
      <joint name="p" class="x" ref="20" springref="10" stiffness="3"/></body></worldbody>
    <actuator><position class="x" joint="p" ctrlrange="-1 1"/><position joint="p" kp="3" dampratio="1"/></actuator>
    </mujoco>""",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_round_trip_of_what_is_written_otherwise(text):
    text = text.replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    original = parse(text)
    ctrl = np.linspace(0.1, 0.4, len(original.actuators.name))
    for model, saved in ((original, text), (changed(original, 1), to_mjcf(changed(original, 1)))):
        begin = start(model) + 0.1
        found = simulate(model, begin, np.tile(ctrl, (30, 1)))
        assert far(found, mujoco_states(saved, begin, ctrl, 30)) < 1e-9
    again = parse(to_mjcf(original)).sites  # what was not changed is where it was
    np.testing.assert_allclose(again.pos, original.sites.pos, atol=1e-12)
    np.testing.assert_allclose(again.turn, original.sites.turn, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_saved_model_reads_as_itself(seed):
    model = changed(parse(tree(seed, 5)), seed)
    again = parse(to_mjcf(model))
    untilted = replace(model.bodies, tilt=model.bodies.tilt * 0)
    own = replace(model.sites, turn=0 * model.sites.turn), replace(again.sites, turn=0 * again.sites.turn)
    model, again = replace(model, sites=own[0]), replace(again, sites=own[1])  # axes of inertia are those of a file
    for part in ("joints", "actuators", "sites", "geoms"):
        for ours, read in zip(
            jax.tree.leaves(getattr(model, part)), jax.tree.leaves(getattr(again, part)), strict=True
        ):
            np.testing.assert_allclose(read, ours, rtol=1e-12, atol=1e-12)
    for name in ("mass", "com", "inertia", "pos"):
        np.testing.assert_allclose(getattr(again.bodies, name), getattr(untilted, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(again.gravity, model.gravity, rtol=1e-12)


def test_a_tilted_body_that_floats_starts_where_mujoco_has_it():
    text = '<mujoco><worldbody><body name="b" euler="10 20 30"><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    model = parse(text)
    tilted = replace(model, bodies=replace(model.bodies, tilt=np.array([[0.1, -0.2, 0.3]])))
    expected = mujoco.MjModel.from_xml_string(to_mjcf(tilted)).qpos0
    np.testing.assert_allclose(start(tilted)[:7], expected, atol=1e-12)


MESH = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("folder", ["", "meshes"])
def test_a_saved_robot_finds_its_meshes(folder, tmp_path, monkeypatch):
    """From any folder, in any other one."""
    here, there = tmp_path / "here", tmp_path / "there"
    (here / folder).mkdir(parents=True)
    there.mkdir()
    (here / folder / "part.obj").write_text(MESH)
    (here / "arm.xml").write_text(f"""<mujoco><compiler meshdir="{folder}"/>
    <asset><mesh name="part" file="part.obj"/></asset><worldbody><body name="b"><joint/>
    <geom type="mesh" mesh="part" contype="0" conaffinity="0"/></body></worldbody></mujoco>""")
    monkeypatch.chdir(tmp_path)
    model = load("here/arm.xml")
    monkeypatch.chdir(there)
    heavier = replace(model, bodies=replace(model.bodies, mass=model.bodies.mass * 2))
    save(heavier, "heavier.xml")
    monkeypatch.chdir("/")
    np.testing.assert_allclose(load(there / "heavier.xml").bodies.mass, heavier.bodies.mass, rtol=1e-12)


@pytest.mark.parametrize("what", ["tendon", "equality", "muscle", "sensor", "contact"])
def test_what_was_ignored_can_be_saved(what):
    """It stays in the file."""
    text, _, group = UNSUPPORTED[what]
    model = parse(f"<mujoco>{text}</mujoco>", ignore=[group])
    saved = to_mjcf(replace(model, gravity=np.array([0.0, 0.0, -5.0])))
    np.testing.assert_array_equal(parse(saved, ignore=[group]).gravity, [0, 0, -5])
    with pytest.raises(ValueError, match="not simulated"):
        parse(saved)


def test_our_own_numbers_come_back():
    model = robot("hopper")
    model = replace(
        model,
        geoms=replace(model.geoms, stiffness=model.geoms.stiffness * 1.5, dissipation=model.geoms.dissipation * 0.5),
        joints=replace(model.joints, frictionspeed=model.joints.frictionspeed * 2),
    )
    text = to_mjcf(model)
    again = parse(text)
    np.testing.assert_array_equal(again.geoms.stiffness, model.geoms.stiffness)
    np.testing.assert_array_equal(again.geoms.dissipation, model.geoms.dissipation)
    np.testing.assert_array_equal(again.joints.frictionspeed, model.joints.frictionspeed)
    mujoco.MjModel.from_xml_string(text)  # and MuJoCo does not mind


def test_comments_and_structure_stay():
    text = to_mjcf(replace(robot("double-pendulum"), gravity=np.array([0.0, 0.0, -9.7])))
    assert "<!--" in text and 'gravity="0.0 0.0 -9.7"' in text and '<joint name="elbow"' in text


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_that_come_along(name):
    """They load, stand as MuJoCo has them, and move without a contact as MuJoCo moves them."""
    model, text = robot(name), files(robots).joinpath(ROBOTS[name]).read_text()
    begin = start(model)
    compiled = mujoco.MjModel.from_xml_string(text)
    np.testing.assert_allclose(begin[: compiled.nq], compiled.qpos0, atol=1e-12)
    if name != "hopper":
        rng = np.random.default_rng(0)
        begin = begin + 0.3 * rng.normal(size=begin.size)
        if name.startswith("panda"):
            begin[3], begin[5] = -1.6, 1.6
        ctrl = np.zeros(compiled.nu)
        found = simulate(model, begin, np.tile(ctrl, (100, 1)))
        assert far(found, mujoco_states(text, begin, ctrl, 100)) < 1e-8


URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0.1 0 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="1"/><dynamics damping="0.1"/></joint></robot>"""


def test_urdf(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(URDF)
    model = load(file)
    assert model.joints.name == ("shoulder",)
    np.testing.assert_allclose(model.bodies.mass, [1.5])
    np.testing.assert_allclose(model.joints.damping, [0.1])


BODY = '<body name="b"><joint name="j"/><geom name="g" size="0.1"/></body>'
UNSUPPORTED = {  # what a file holds, what the error must say, and what drops it
    "tendon": (f'<worldbody>{BODY}</worldbody><tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>',
               ["tendon", "'t'", "line"], "tendon"),
    "equality": (f'<worldbody>{BODY}</worldbody><equality><joint name="e" joint1="j"/></equality>',
                 ["equality", "'e'", "line"], "equality"),
    "muscle": (f'<worldbody>{BODY}</worldbody><actuator><muscle name="m" joint="j" lengthrange="0 1"/></actuator>',
               ["'m'", "dynamics"], "actuator"),
    "fluid": (f'<option viscosity="0.1"/><worldbody>{BODY}</worldbody>', ["fluid", "0.1"], "fluid"),
    "sensor": (f'<worldbody>{BODY}</worldbody><sensor><subtreecom name="s" body="b"/></sensor>',
               ["subtreecom", "'s'"], "sensor"),
    "contact": ('<worldbody><body><freejoint/><geom name="x" type="box" size="1 1 1"/></body><body><freejoint/>'
                '<geom name="y" type="box" size="1 1 1"/></body></worldbody>', ["box 'x'", "box 'y'"], "contact"),
    "gravcomp": ('<worldbody><body name="b" gravcomp="1"><joint/><geom size="1"/></body></worldbody>',
                 ["gravity compensation", "'b'"], "gravcomp"),
    "disabled actuator": (f'<option actuatorgroupdisable="1"/><worldbody>{BODY}</worldbody><actuator>'
                          '<motor name="m" joint="j" group="1"/></actuator>', ["disable", "'m'", "line"], "actuator"),
    "sensor that waits": (f'<worldbody>{BODY}</worldbody><sensor><jointpos name="s" joint="j" delay="0.01" '
                          'nsample="4"/></sensor>', ["a delay", "'s'", "line"], "sensor"),
    "conveyor": ('<worldbody><geom name="belt" type="plane" size="1 1 1" surfacevel="1 0 0 0 0 0"/>'
                 '<body name="b"><freejoint/><geom name="g" size="1"/></body></worldbody>',
                 ["surface that moves", "'belt'", "'g'"], "surface"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_what_is_not_simulated_is_refused_by_name(what):
    text, said, group = UNSUPPORTED[what]
    text = f"<mujoco>\n{text}\n</mujoco>"
    with pytest.raises(ValueError, match="not simulated") as error:
        parse(text)
    for word in (*said, f"ignore=['{group}']"):
        assert word in str(error.value)
    simulate(parse(text, ignore=[group]), start(parse(text, ignore=[group])), steps=2)


def test_urdfs_mimic_is_refused_by_its_joints():
    second = HINGE.format("y", "0 0 1", "b", "c").replace("<axis", '<mimic joint="x"/><axis')
    text = "".join(LINK.format(name, 1) for name in "abc") + HINGE.format("x", "0 0 1", "a", "b") + second
    with pytest.raises(ValueError, match="an equality constraint of 'y' and 'x'"):
        parse(f'<robot name="r">{text}</robot>')


@pytest.mark.parametrize("flag", ["contact", "limit", "frictionloss", "constraint"])
def test_what_the_options_switch_off_is_off(flag):
    model = parse(f"""<mujoco><option><flag {flag}="disable"/></option><worldbody><geom type="plane" size="1 1 1"/>
    <body><joint type="slide" axis="0 0 1" limited="true" range="-1 1" frictionloss="1"/><geom size="1"/></body>
    </worldbody></mujoco>""")
    off = [not model.geoms.touch, model.joints.limited == (False,), model.joints.frictionloss[0] == 0]
    assert off == [flag in (name, "constraint") for name in ("contact", "limit", "frictionloss")]


def test_everything_that_is_refused_is_listed_at_once():
    text = f"""<mujoco><option density="1"/><worldbody>{BODY}</worldbody>
    <tendon><fixed name="t1"><joint joint="j" coef="1"/></fixed>
    <fixed name="t2"><joint joint="j" coef="1"/></fixed></tendon>
    <equality><joint joint1="j"/></equality></mujoco>"""
    with pytest.raises(ValueError) as error:
        parse(text)
    for word in ("'t1'", "'t2'", "equality", "fluid"):
        assert word in str(error.value)


def test_what_is_ignored_is_all_that_is_dropped():
    """Contacts of two boxes, and rolling friction; that the boxes stand on the floor, and slide on it, stays."""
    box = '<body name="{0}"><freejoint/><geom name="{0}" type="box" size="1 1 1" condim="{1}"/></body>'
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    {box.format("x", 3)}{box.format("y", 6)}</worldbody></mujoco>"""
    with pytest.raises(ValueError, match=r"(?s)box 'x'.*box 'y'.*ignore=\['contact', 'rolling'\]"):
        parse(text)
    model = parse(text, ignore=["contact", "rolling"])
    touching = {tuple(model.geoms.name[i] for i in pair) for pair in model.geoms.touch}
    assert touching == {("x", "floor"), ("y", "floor")} and all(model.geoms.rough)


def test_a_group_that_there_is_not_cannot_be_ignored():
    with pytest.raises(ValueError, match=r"nothing is called 'tendons'.*spring, surface, tendon"):
        parse(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>", ignore=["tendons"])
    used = set(
        re.findall(r'(?:found|Unsupported)\(\s*"(\w+)"', inspect.getsource(unsupported) + inspect.getsource(contacting))
    )
    assert used <= set(GROUPS) and set(GROUPS) - used <= {"tendon", "equality", "flex", "plugin", "pair"}


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file .*nowhere\.xml"):
        load(tmp_path / "nowhere.xml")


LINK = """<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>"""
COLLISION = """<collision><geometry><mesh filename="package://robot/gone.stl"/></geometry></collision></link>"""
HINGE = '<joint name="{}" type="continuous"><axis xyz="{}"/><parent link="{}"/><child link="{}"/></joint>'


def inertial(mass: float, moments: str) -> str:
    return f"""<mujoco><worldbody><body name="light"><joint/>
    <inertial mass="{mass}" pos="0 0 0" diaginertia="{moments}"/></body></worldbody></mujoco>"""


BAD = {  # what a file holds, and what the error must name
    "malformed": ("<mujoco>\n<worldbody>", ["XML", "2", "worldbody"]),
    "no XML at all": ("hello", ["XML"]),
    "nothing": ("", ["empty"]),
    "no mass at all": ('<mujoco><worldbody><body name="light"><joint/></body></worldbody></mujoco>',
                       ["mass", "'light'", "Give it an <inertial>"]),
    "mass of zero": (inertial(0, "1 1 1"), ["mass", "'light'", "line 1", "Give it an <inertial>"]),
    "negative mass": (inertial(-1, "1 1 1"), ["mass", "'light'"]),
    "negative mass of a geom": (
        '<mujoco><worldbody><body name="b"><joint/><geom name="g" size="1" mass="-1"/></body></worldbody></mujoco>',
        ["mass", "'g'"]),
    "an inertia that cannot be": (inertial(1, "1 1 5"), ["'light'", "sum of the two others"]),
    "a mesh that is not there": (
        '<mujoco><asset><mesh name="m" file="gone.stl"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>',
        ["'gone.stl'", "mesh 'm'"]),
    "a joint without an axis": (
        '<mujoco><worldbody><body name="b"><joint name="j" axis="0 0 0"/><geom size="1"/></body></worldbody></mujoco>',
        ["axis", "'j'", "Give it a direction"]),
    "unknown element": ("<mujoco><worldbody><wheel/></worldbody></mujoco>", ["'wheel'", "line 1"]),
    "unknown attribute": (f'<mujoco><worldbody>{BODY.replace("name", "nmae", 1)}</worldbody></mujoco>', ["'nmae'"]),
    "a name twice": (f"<mujoco><worldbody>{BODY}{BODY}</worldbody></mujoco>", ["repeated name 'b'"]),
    "limits reversed": (
        '<mujoco><worldbody><body><joint name="j" limited="true" range="1 -1"/><geom size="1"/></body></worldbody>'
        '</mujoco>', ["range", "'j'"]),
    "infinite": (f"<mujoco><worldbody>{BODY.replace('<joint', '<joint damping=`inf`')}</worldbody></mujoco>"
                 .replace("`", '"'),
                 ["damping inf of 'j'", "finite"]),
    "a mesh of a package": (
        f'<robot name="r">{LINK.format("a", 1).replace("</link>", COLLISION)}{LINK.format("b", 1)}'
        f'{HINGE.format("x", "0 0 1", "a", "b")}</robot>', ["gone.stl", "Packages are not known here"]),
    "no time": (f'<mujoco><option timestep="0"/><worldbody>{BODY}</worldbody></mujoco>', ["timestep 0 s"]),
    "an actuator of no joint": (
        f'<mujoco><worldbody>{BODY}</worldbody><actuator><motor name="m" joint="k"/></actuator></mujoco>',
        ["'k'", "'m'"]),
    "URDF: a loop": (
        f'<robot name="r">{LINK.format("a", 1)}{LINK.format("b", 1)}{HINGE.format("x", "0 0 1", "a", "b")}'
        f'{HINGE.format("y", "0 0 1", "b", "a")}</robot>', ["b -> a -> b", "loop", "a robot is a tree"]),
    "URDF: two parents": (
        f'<robot name="r">{"".join(LINK.format(x, 1) for x in "abc")}{HINGE.format("x", "0 0 1", "a", "c")}'
        f'{HINGE.format("y", "0 0 1", "b", "c")}</robot>', ["multiple parents", "robot is a tree"]),
    "URDF: no axis": (
        f'<robot name="r">{LINK.format("a", 1)}{LINK.format("b", 1)}{HINGE.format("x", "0 0 0", "a", "b")}</robot>',
        ["axis", "'x'"]),
    "URDF: negative mass": (
        f'<robot name="r">{LINK.format("a", 1)}{LINK.format("b", -1)}{HINGE.format("x", "0 0 1", "a", "b")}</robot>',
        ["mass", "'b'"]),
}  # fmt: skip


@pytest.mark.parametrize("text, said", BAD.values(), ids=BAD.keys())
def test_bad_files_are_errors_that_name_the_element(text, said, tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text(text)
    for read, where in ((lambda: parse(text), "the model"), (lambda: load(file), str(file))):
        with pytest.raises(
            ValueError, match=r"not a model that MuJoCo can read|does not compile|timestep|finite"
        ) as error:
            read()
        assert all(word in str(error.value) for word in (*said, where)), str(error.value)


def test_a_file_of_another_kind(tmp_path):
    file = tmp_path / "robot.sdf"
    file.write_text("<sdf/>")
    with pytest.raises(ValueError, match=r"robot\.sdf.*Name an MJCF"):
        load(file)


def test_a_model_made_in_code_cannot_be_saved():
    with pytest.raises(ValueError, match="no file behind it"):
        to_mjcf(replace(robot("pendulum"), source=""))


def test_on_device_keeps_what_it_holds():
    model = robot("panda-box")
    for ours, theirs in zip(jax.tree.leaves(model), jax.tree.leaves(on_device(model)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


HEAVY = f'<mujoco><compiler settotalmass="3"/><worldbody>{BODY}</worldbody></mujoco>'


def test_what_mujoco_warns_of_is_said_once_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "heavy.xml"
    file.write_text(HEAVY)
    with pytest.warns(UserWarning, match=r"heavy\.xml: compiler attribute 'settotalmass' is deprecated") as said:
        model = load(file)
    assert len(said) == 1
    save(model, file)
    assert [p.name for p in tmp_path.iterdir()] == ["heavy.xml"]


def test_mujocos_own_log_is_left_as_it_was():
    before = mujoco.MjLogConfig.get().logto_file
    for wanted in (True, False):
        config = mujoco.MjLogConfig.get()
        config.logto_file = wanted
        config.set()
        parse(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
        assert mujoco.MjLogConfig.get().logto_file is wanted
    assert mujoco.MjLogConfig.get().logto_file == before
