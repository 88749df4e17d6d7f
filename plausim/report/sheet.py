"""All figures of a run on one page, each in its own proportions."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np
from matplotlib.figure import Figure

WIDTH, MARGIN, CAPTION = 8.0, 0.25, 0.3  # of a column, around each picture, and above it, in inches
DPI = 120


def draw_sheet(pictures: Sequence[Figure | Path], captions: Sequence[str] = (), columns: int = 2) -> Figure:
    """Drawn figures and PNG files. Each goes where the page is shortest so far; small ones are not blown up."""
    if not pictures:
        raise ValueError("there are no pictures for the sheet; draw at least one.")
    images = [pixels(picture) for picture in pictures]
    columns = min(columns, len(images))
    head = CAPTION if captions else 0.0
    filled = [MARGIN] * columns
    places = []
    for image in images:
        column = int(np.argmin(filled))
        size = min(WIDTH, image.shape[1] / DPI)
        height = size * image.shape[0] / image.shape[1]
        places.append((MARGIN + column * (WIDTH + MARGIN), filled[column] + head, size, height))
        filled[column] += head + height + MARGIN
    page = columns * (WIDTH + MARGIN) + MARGIN, max(filled)
    sheet = Figure(figsize=page, dpi=DPI)
    for i, (image, (left, top, width, height)) in enumerate(zip(images, places, strict=True)):
        box = (left / page[0], 1 - (top + height) / page[1], width / page[0], height / page[1])
        axes = sheet.add_axes(box)
        axes.imshow(image, interpolation="antialiased", aspect="auto")
        axes.set_axis_off()
        if i < len(captions):
            sheet.text(box[0], 1 - (top - 0.08) / page[1], captions[i], fontsize=12, va="bottom")
    return sheet


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
