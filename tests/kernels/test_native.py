from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from radixkv_kernels.native import has_native, native_module

ROOT = Path(__file__).parents[2]


def test_the_native_module_was_built() -> None:
    assert has_native()


def test_the_native_module_shares_torchs_openmp_runtime() -> None:
    """One library of each name is mapped: the system's libgomp beside torch's would be a second runtime."""
    assert native_module() is not None
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    runtimes = {path for path in paths if any(name in Path(path).name for name in ("libgomp", "libomp", "libiomp"))}
    assert len(runtimes) == 1, runtimes
    assert Path(torch.__file__).parent.parent in Path(runtimes.pop()).parents


def test_torch_set_num_threads_governs_native_parallel_regions() -> None:
    module = native_module()
    assert module is not None
    before = torch.get_num_threads()
    try:
        for threads in (1, 3, 2):
            torch.set_num_threads(threads)
            assert module.parallel_region_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_without_the_compiled_module_has_native_says_so() -> None:
    """What an install without a compiler sees: the import fails, nothing else does."""
    code = (
        "import sys; sys.modules['radixkv_kernels._cpu'] = None\n"
        "from radixkv_kernels.native import has_native\n"
        "import radixkv_kernels.reference\n"
        "assert has_native() is False\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_kernels_folder_is_no_package() -> None:
    """The import name `kernels` is Hugging Face's; ours would overwrite or shadow theirs."""
    assert not (ROOT / "kernels" / "__init__.py").exists()
    spec = importlib.util.find_spec("kernels")
    assert spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(ROOT / "kernels")


def test_a_package_named_kernels_wins_over_our_folder(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").write_text("WHOSE = 'theirs'\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import kernels; assert kernels.WHOSE == 'theirs'"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT)


@pytest.mark.parametrize("name", ["radixkv_kernels", "radixkv_kernels.protocols", "radixkv_kernels.reference"])
def test_the_package_is_found_by_its_own_name_alone(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    assert "radixkv_kernels" in spec.origin
