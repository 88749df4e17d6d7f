"""The recorded double pendulum of the paper's experiments, out of the files that IBM published.

A. Asseman, T. Kornuta, A. Ozcan, "Learning beyond simulated physics" (2018): double-pendulum-chaotic. N.csv has a row a
frame, six integers: where the red (pivot), green (elbow) and blue (tip) markers are, down and to the right, in fifths
of a pixel. At 500 frames a second the motion agrees with the published lengths; the published 400 do not.
"""

import hashlib
import os
from pathlib import Path

import numpy as np
from jaxtyping import Float

from . import sampling, smoothing
from .record import Recording, cut

CHANNELS = ("angle1", "angle2", "rate1", "rate2")  # of mechanics.robot("double-pendulum")
SHA256 = {
    0: "0c02780291f4d19c1e92ad45c0f8e958ae15413def5834b98dd4c6935ad3adbd",
    1: "11bc145e34c0745a71881ec48089cda43da2171ee3e4081ba24d335acbfa1f2e",
    2: "94d326951762fd133a549a4c8b2de81c97d330e6dbe997407b8b367d7a73c3bd",
    3: "3d8e91f8e52cee26de41ae32081aabd9e2463ad423a59e9714d78bb402f48547",
    4: "8c20addd10d5ab78df894927ec4ae1a278eaf56d96b1ed3ed49dcbea076217ae",
    5: "dbd310a7e512d46b7e9e0d16b932d965746ef46685055fb5031f6ecfa094c465",
    6: "79e0a9b415fa6e4e59ce016f2f6fcee759a9a9491d58ffde6e73303eab3f506e",
    7: "c16496123e485c4d29d8c62a761e7d889d89a38acb638ee43f087e6ff300df3e",
    8: "2ef747e2ba1cf8f31af766a3905632e6efd0e65dd95aca08fdfb546ce8ce38d0",
    9: "a32078daa3b914f510dfd5645ad7ca655ac4a736f2423a41606e6030e623427b",
    10: "a7042a4efde78b017fcab37defa73624efd92f8bacf1a87085044ccd9b3fdcde",
    11: "3e33ed1cc0cd81afd90e4738c51f1801ce4885439b138febf7909578a30b858c",
    12: "ccdde6af4e65200389a85480b3a34c183cef5affff4a11f43d81cc565d64fded",
    13: "a16d1fbb7da0c8a13a154d75da78f2863ea7aeb32408804537a1f36bf7e8cc44",
    14: "bdaaad2e81d70b2cfe9759f4a934153cfd0ac2e8c7d59572e4558c6c80f5840d",
}
ORIGIN = (
    'It is the dataset double-pendulum-chaotic that IBM published with A. Asseman, T. Kornuta, A. Ozcan, "Learning '
    'beyond simulated physics" (2018), under the licence CDLA-Sharing-1.0; unpack it into a folder that holds 0.csv, '
    "1.csv, ..., each with six integers a row."
)


def double_pendulum(
    folder: str | os.PathLike,
    run: int,
    frames: tuple[int, int] | None = (20, 420),
    rate: float = 500.0,
    verify: bool = True,
) -> Recording:
    """A run of IBM's double pendulum: its two joint angles, and their velocities.

    Args:
        folder: where 0.csv, 1.csv, ... are.
        run: the number of the file.
        frames: the first and the last; all, if None. The velocities are made from all frames.
        rate: frames a second.
        verify: whether the file must be the published one, by its SHA-256.

    """
    pixels = markers(folder, run, verify)
    angles = joint_angles(pixels)
    known, step = np.ones(len(angles), bool), 1.0 / rate
    rates = np.stack([smoothing.velocities(angle, known, step)[0] for angle in angles.T], axis=1)
    states = np.concatenate([angles, rates], axis=1)
    whole = Recording(
        name=f"double pendulum {run}",
        channels=CHANNELS,
        observed=states,
        known=np.ones(states.shape, bool),
        controls=np.zeros((len(states) - 1, 0)),
        states=states,
        timestep=step,
    )
    return whole if frames is None else cut(whole, *frames)


def marker_noise(
    folder: str | os.PathLike, run: int, frames: tuple[int, int] = (20, 420), rate: float = 500.0, verify: bool = True
) -> dict[str, float]:
    """The standard deviation of each channel's noise, from what cannot be: arms whose length changes.

    A marker that strays along its arm changes the arm's length, and across it the arm's angle, by as much. So the noise
    is told from the recording alone, with no model of the motion; the velocities' by the filter that makes them.
    """
    pixels = markers(folder, run, verify)
    places, speeds = [], []
    for one, other in ((pixels[:, 0:2], pixels[:, 2:4]), (pixels[:, 2:4], pixels[:, 4:6])):
        length = np.linalg.norm(other - one, axis=1)
        away = length / length.mean()
        speed, _ = smoothing.velocities(away, np.ones(len(away), bool), 1.0 / rate)
        places.append(float(np.std(away[frames[0] : frames[1] + 1])))
        speeds.append(float(np.std(speed[frames[0] : frames[1] + 1])))
    elbow = [float(np.hypot(*both)) for both in (places, speeds)]  # its angle is the difference of two
    return dict(zip(CHANNELS, (places[0], elbow[0], speeds[0], elbow[1]), strict=True))


def markers(folder: str | os.PathLike, run: int, verify: bool = True) -> Float[np.ndarray, "frames 6"]:
    """The numbers of one run's file, as they are."""
    file = Path(folder) / f"{run}.csv"
    if not file.is_file():
        what = f"no {file.name} in {folder}" if Path(folder).is_dir() else f"no folder {folder}"
        raise FileNotFoundError(f"there is {what}. {ORIGIN}")
    content = file.read_bytes()
    if verify:
        _check(file, run, hashlib.sha256(content).hexdigest())
    try:
        numbers = np.loadtxt(content.decode("ascii").splitlines(), delimiter=",", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{file} does not hold rows of numbers: {error}. {ORIGIN}") from None
    if numbers.shape[1] != 6 or not np.isfinite(numbers).all():
        raise ValueError(f"{file} has {numbers.shape[1]} columns, or numbers that are not finite. {ORIGIN}")
    return numbers


def _check(file: Path, run: int, checksum: str) -> None:
    if run not in SHA256:
        raise ValueError(
            f"no checksum is known of run {run}, only of {min(SHA256)} to {max(SHA256)}; say verify=False."
        )
    if checksum != SHA256[run]:
        raise ValueError(
            f"{file} is not the published file: its SHA-256 is {checksum}, not {SHA256[run]}. Fetch it anew, or say "
            f"verify=False if it was changed on purpose. {ORIGIN}"
        )


def joint_angles(pixels: Float[np.ndarray, "frames 6"]) -> Float[np.ndarray, "frames 2"]:
    """Of the first link from hanging down, and of the second from the first; without jumps, from within half a turn."""
    known = np.ones(len(pixels), bool)
    pivot, elbow, tip = pixels[:, 0:2], pixels[:, 2:4], pixels[:, 4:6]
    down1, right1 = (elbow - pivot).T
    down2, right2 = (tip - elbow).T
    first = sampling.unwrap(np.arctan2(right1, down1), known)
    second = sampling.unwrap(np.arctan2(right2, down2), known)
    elbow_angle = second - first
    return np.stack([first, elbow_angle - 2.0 * np.pi * np.round(elbow_angle[0] / (2.0 * np.pi))], axis=1)
