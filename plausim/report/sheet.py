"""All figures of a run on one page, each in its own proportions."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np
from matplotlib.figure import Figure

PAGE, MARGIN, CAPTION = 16.0, 0.25, 0.3  # of the page, around each picture, and above it, in inches
SMALLEST = 0.65  # of its size: what would be smaller beside others comes into a row of its own
DPI = 120


def draw_sheet(pictures: Sequence[Figure | Path], captions: Sequence[str] = ()) -> Figure:
    """Drawn figures and PNG files in rows, from left to right. A row that is too wide is made smaller as a whole."""
    if not pictures:
        raise ValueError("there are no pictures for the sheet; draw at least one.")
    images = [pixels(picture) for picture in pictures]
    head = CAPTION if captions else 0.0
    boxes, top, right = [], MARGIN, 0.0
    for row in rows([image.shape[1] / DPI for image in images]):
        scale, left = scale_of([images[i].shape[1] / DPI for i in row]) / DPI, MARGIN
        for i in row:
            height, width = scale * images[i].shape[0], scale * images[i].shape[1]
            boxes.append((left, top + head, width, height))
            left += width + MARGIN
        top, right = max(y + height for _, y, _, height in boxes) + MARGIN, max(right, left)
    sheet = Figure(figsize=(right, top), dpi=DPI)
    for i, (image, (left, above, width, height)) in enumerate(zip(images, boxes, strict=True)):
        box = (left / right, 1 - (above + height) / top, width / right, height / top)
        axes = sheet.add_axes(box)
        axes.imshow(image, interpolation="antialiased", aspect="auto")
        axes.set_axis_off()
        if i < len(captions):
            sheet.text(box[0], 1 - (above - 0.08) / top, captions[i], fontsize=12, va="bottom")
    return sheet


def rows(widths: Sequence[float]) -> list[list[int]]:
    """Which pictures stand side by side."""
    found: list[list[int]] = []
    for i in range(len(widths)):
        if found and scale_of([widths[j] for j in (*found[-1], i)]) >= SMALLEST:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def scale_of(widths: Sequence[float]) -> float:
    """What makes them fit side by side; small ones are not blown up."""
    return min(1.0, (PAGE - MARGIN * (len(widths) + 1)) / sum(widths))


def pixels(picture: Figure | Path) -> np.ndarray:
    """Red, green and blue, on white."""
    if isinstance(picture, Figure):
        drawn = BytesIO()
        picture.savefig(drawn, format="png", dpi=DPI)
        drawn.seek(0)
        image = matplotlib.image.imread(drawn)
    else:
        image = matplotlib.image.imread(picture)
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    alpha = image[..., 3:] if image.shape[2] == 4 else 1.0
    return image[..., :3] * alpha + (1.0 - alpha)
