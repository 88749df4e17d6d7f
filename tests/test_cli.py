"""What a user sees at the command line, on the good path and on the bad ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import plausim
from plausim.cli import app


def plausim_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "plausim", *arguments], capture_output=True, text=True)


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output.strip()) == (0, f"plausim {plausim.__version__}")


def test_a_study_in_a_fresh_process(tmp_path: Path) -> None:
    run = plausim_command("study", "landscape", "--out", str(tmp_path / "new" / "folder"))
    assert run.returncode == 0, run.stderr
    assert "local maxima" in run.stdout
    figure = tmp_path / "new" / "folder" / "figures.png"
    assert str(figure) in run.stdout
    assert figure.exists()


@pytest.mark.parametrize(
    ("press", "says"),
    [
        ("", "stopped; nothing was begun."),
        ("with saying.stoppable('stopped at once; the rest is whole.'): ", "stopped at once; the rest is whole."),
        ("ctypes.CFUNCTYPE(None)(lambda: ", "stopped; nothing was begun."),  # an exception would be lost in here
    ],
    ids=["in a command", "inside of it", "called from C"],
)
def test_ctrl_c_ends_a_command_in_a_line(press: str, says: str) -> None:
    call = f"{press}signal.raise_signal(signal.SIGINT)" + (")()" if press.startswith("ctypes") else "")
    code = f"""
import ctypes, signal
from plausim.commands import COMMANDS, saying
def press() -> None:
    {call}
COMMANDS["press"] = press
from plausim.cli import app
app(["press"])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", f"plausim: {says}\n")


def test_studies_are_listed() -> None:
    lines = CliRunner().invoke(app, ["study"]).output.splitlines()
    names = [line.split()[0] for line in lines]
    assert names[:3] == ["landscape", "synthetic-pendulum", "combination"]
    assert {"double-pendulum", "bayessim-two-lengths"} < set(names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "-1"], "greater than or equal to 0"),
        (["--out", __file__], "name a folder that you may write to"),
        (["--out", "/proc/nowhere"], "cannot write to /proc/nowhere"),
        (["pendulums"], "there is no study pendulums; there are landscape"),
    ],
)
def test_bad_input_stops_with_what_to_do(arguments: list[str], says: str) -> None:
    name = [] if arguments == ["pendulums"] else ["landscape"]
    result = CliRunner(env={"COLUMNS": "1000"}).invoke(app, ["study", *name, *arguments])
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output


TENDON = """<mujoco>
<worldbody><body><joint name="hinge"/><geom size="0.1"/><site name="a"/></body><site name="b"/></worldbody>
<tendon><spatial name="rope"><site site="a"/><site site="b"/></spatial></tendon>
</mujoco>"""


def said(*arguments: str, code: int = 0) -> str:
    """What a command prints, on either stream."""
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture
def pendulum(tmp_path: Path) -> str:
    """A file of one's own: the pendulum of 1 m that comes along."""
    from plausim import robot, save

    save(robot("pendulum"), tmp_path / "mine.xml")
    return str(tmp_path / "mine.xml")


def test_parameters_are_listed_one_a_line(pendulum: str) -> None:
    listed = dict(line.split("\t", 1) for line in said("parameters", pendulum).splitlines())
    assert listed["rod.mass"] == "1\tkg"
    assert listed["rod.com.z"] == "-0.5\tm"
    assert listed["pivot.damping"] == "0.01\tN m s/rad"
    assert listed["gravity.z"] == "-9.81\tm/s^2"
    assert said("parameters", "pendulum", "--match", "pivot.damp") == "pivot.damping\t0.01\tN m s/rad\n"


def test_simulate_in_a_fresh_process(tmp_path: Path, pendulum: str) -> None:
    """A small swing of a rod: omega^2 = m g (l / 2) / (I + m (l / 2)^2), of 1 kg and 1 m."""
    csv, plot = tmp_path / "out.csv", tmp_path / "out"
    arguments = ["--seconds", "1", "--start", "pivot=0.01", "--set", "pivot.damping=0", "--set", "timestep=0.0005"]
    run = plausim_command("simulate", pendulum, *arguments, "--csv", str(csv), "--plot", str(plot))
    assert (run.returncode, run.stderr) == (0, "")
    summary, states, figure = run.stdout.splitlines()
    assert summary.startswith(f"{pendulum}: 1 s in 2,000 steps of 0.0005 s; fastest was pivot with 0.03")
    assert (states, figure) == (f"states: {csv}", f"figure: {plot}.png")
    assert Path(f"{plot}.png").stat().st_size > 10_000
    assert csv.read_text().splitlines()[0] == "time,pivot.position,pivot.velocity"
    time, angle, _ = np.loadtxt(csv, delimiter=",", skiprows=1, unpack=True)
    omega = np.sqrt(9.81 * 0.5 / (0.083333 + 0.25))
    np.testing.assert_allclose(angle, 0.01 * np.cos(omega * time), atol=2e-5)


def test_ignore_drops_what_is_not_simulated(tmp_path: Path) -> None:
    file = tmp_path / "tendon.xml"
    file.write_text(TENDON)
    refused = said("simulate", str(file), code=2)
    assert "a tendon 'rope' (line 3)" in refused and "--ignore GROUP" in refused
    assert "nothing moved" in said("simulate", str(file), "--seconds", "0.01", "--ignore", "tendon")
    assert "hinge.damping" in said("parameters", str(file), "--ignore", "tendon")


MISTAKES = {
    "no file": (["nope.xml"], "there is no model file nope.xml; name a file (.xml or .urdf) or one of the models that"),
    "a folder": (["/"], "there is no model file /"),
    "no time": (["pendulum", "--seconds", "0"], "0 seconds cannot be simulated; ask for more than 0"),
    "time runs back": (["pendulum", "--seconds", "-1"], "-1 seconds cannot be simulated"),
    "too long": (["pendulum", "--seconds", "1e9"], "200,000,000,000 steps, of 5,000,000 at most; ask for 25000 s or"),
    "joint": (["double-pendulum", "--start", "elbwo=1"], "no joint position or velocity elbwo; did you mean elbow?"),
    "actuator": (["panda", "--control", "servo=1"], "the model has no actuator servo; did you mean servo7 or"),
    "no actuators": (["double-pendulum", "--control", "x=1"], "the model has no actuator x; there are none"),
    "path": (["double-pendulum", "--set", "link2.mas=1"], "no number link2.mas; did you mean link2.mass or"),
    "no number": (
        ["pendulum", "--start", "pivot"],
        "--start pivot is not a name and a number; write --start pivot=1.5",
    ),
    "infinite": (["pendulum", "--set", "rod.mass=inf"], "--set rod.mass=inf is not a name and a number"),
    "twice": (["pendulum", "--start", "pivot=1", "--start", "pivot=2"], "pivot is given as 1 and as 2; give it once"),
    "impossible": (["pendulum", "--set", "rod.mass=-1"], "such a robot cannot exist: rod.mass: -1 is below 0."),
    "no step": (["pendulum", "--set", "timestep=0"], "such a robot cannot exist: timestep: 0 is no time to move in."),
    "blows up": (
        ["pendulum", "--start", "pivot=1", "--seconds", "9", "--set", "pivot.damping=500"],
        "use a shorter timestep (now 0.005 s), another integrator (now euler)",
    ),
    "integrator": (["pendulum", "--integrator", "fast"], "there is no integrator fast; there are euler, damped"),
    "no folder": (["pendulum", "--plot", "/nowhere/a.png"], "no folder /nowhere for a.png; make it first: mkdir -p"),
    "ending": (["pendulum", "--plot", "a.txt"], "a.txt ends in .txt; let it end in .png or .pdf or .svg."),
    "onto a folder": (["pendulum", "--csv", "/tmp"], "/tmp is a folder; name a file in it, such as /tmp/motion.csv"),
}


@pytest.mark.parametrize("arguments, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_in_simulate_are_one_line(arguments: list[str], says: str) -> None:
    (line,) = said("simulate", *arguments, code=2).splitlines()
    assert line.startswith("plausim: ") and says in line


def test_a_text_that_no_path_contains() -> None:
    (line,) = said("parameters", "double-pendulum", "--match", "elbow.dumping", code=2).splitlines()
    assert "contains elbow.dumping; did you mean elbow.damping" in line
