from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from plausim.report.sheet import DPI, MARGIN, PAGE, draw_sheet, rows


def plain(colour: str, width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), facecolor=colour)


def test_pictures_keep_their_proportions_and_do_not_overlap(tmp_path: Path) -> None:
    """Each figure is a sheet of one colour: the page has as much of it as the figure's area."""
    pictures = [plain("red", 4, 3), plain("lime", 5, 2), plain("blue", 2 * PAGE, 4), plain("black", 3, 3)]
    sheet = draw_sheet(pictures)
    sheet.savefig(tmp_path / "figures.png", dpi=DPI)
    page = matplotlib.image.imread(tmp_path / "figures.png")[..., :3]
    wide = PAGE - 2 * MARGIN
    areas = [12.0, 10.0, wide * wide / PAGE * 2.0, 9.0]  # the wide one is brought to the width of the page
    for colour, area in zip([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)], areas, strict=True):
        share = np.sum(np.all(np.abs(page - colour) < 0.02, axis=-1)) / DPI**2
        assert_allclose(share, area, rtol=0.03)


def test_rows_are_as_full_as_is_legible() -> None:
    assert rows([5.0, 5.0, 5.0]) == [[0, 1, 2]]
    assert rows([12.0, 8.0, 5.0, 20.0, 3.0]) == [[0, 1], [2], [3, 4]]
    assert rows([100.0, 1.0]) == [[0], [1]]


def test_files_and_figures_share_a_page(tmp_path: Path) -> None:
    plain("red", 3, 2).savefig(tmp_path / "red.png", dpi=DPI)
    grey = np.linspace(0, 1, 600).reshape(20, 30)
    matplotlib.image.imsave(tmp_path / "grey.png", grey, cmap="gray")
    sheet = draw_sheet([tmp_path / "red.png", plain("blue", 3, 2), tmp_path / "grey.png"], ["one", "two"])
    sheet.draw_without_rendering()
    assert [axes.images[0].get_array().shape for axes in sheet.axes] == [(240, 360, 3), (240, 360, 3), (20, 30, 3)]  # pyright: ignore
    assert [text.get_text() for text in sheet.texts] == ["one", "two"]
    assert_allclose(sheet.axes[0].images[0].get_array()[5, 5], [1, 0, 0])  # pyright: ignore


def test_nothing_to_put_together() -> None:
    with pytest.raises(ValueError, match="no pictures for the sheet"):
        draw_sheet([])
    with pytest.raises(FileNotFoundError, match=r"missing\.png"):
        draw_sheet([Path("missing.png")])
