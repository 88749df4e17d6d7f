"""How every test runs: float64 at hand, no silent promotion, a fresh kernel cache, the same random numbers."""

import os
import tempfile

# Before JAX and plausim are imported. Each worker of pytest-xdist gets one core, a run alone gets all.
os.environ["PLAUSIM_CACHE_DIR"] = tempfile.mkdtemp(prefix="plausim-tests-")
os.environ.setdefault("MPLBACKEND", "agg")
for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(pool, "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("NPROC", "1")  # XLA's pool

import shutil
from collections.abc import Iterator

import hypothesis
import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

for name, examples in {"ci": 25, "thorough": 1000}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=examples,
        derandomize=name == "ci",
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", autouse=True)
def _own_kernel_cache() -> Iterator[None]:
    yield
    shutil.rmtree(os.environ["PLAUSIM_CACHE_DIR"], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needy = [item for item in items if item.get_closest_marker("gpu")]
    if needy and jax.default_backend() != "gpu":
        for item in needy:
            item.add_marker(pytest.mark.skip(reason="no GPU here"))
