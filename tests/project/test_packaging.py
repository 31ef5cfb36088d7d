"""The wheel has everything it needs, and importing the package costs little (reports R180, R183)."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE_PACKAGES = sysconfig.get_path("purelib")


def run_python(code: str, *, path: Path | None = None) -> str:
    """Run code in a fresh interpreter outside the repository; with `path`, that folder comes before all else."""
    if path is None:
        command = [sys.executable, "-c", code]
    else:
        # -S leaves .pth files aside, so an editable install of this repository cannot answer instead.
        prelude = f"import sys; sys.path[:0] = [{str(path)!r}]; sys.path.append({SITE_PACKAGES!r})\n"
        command = [sys.executable, "-I", "-S", "-c", prelude + code]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def test_r180_wheel_lists_grammar_types_and_native_module(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "frontend_lang/syntax/grammar.lark" in names
    for package in ("radixkv", "frontend_lang", "radixkv_kernels"):
        assert f"{package}/py.typed" in names
    assert any(name.startswith("radixkv_kernels/_cpu") and name.endswith(".so") for name in names)
    assert not any(name.startswith(("tests/", "examples/", "kernels/")) for name in names)


def test_r180_installed_wheel_runs_a_program_and_help_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = """
import frontend_lang, frontend_lang.scripted
assert "site-packages" not in frontend_lang.__file__, frontend_lang.__file__
runtime = frontend_lang.scripted.ScriptedRuntime(answers=["Oslo"])
result = frontend_lang.run('user: Where?\\nassistant gen place\\nreturn place', {}, runtime=runtime)
print(result.value)
from click.testing import CliRunner
from radixkv.cli.main import cli
print(CliRunner().invoke(cli, ["--help"]).exit_code)
import radixkv_kernels.native
assert radixkv_kernels.native.has_native()
"""
    assert run_python(code, path=tmp_path).split() == ["Oslo", "0"]


def test_r183_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, radixkv, frontend_lang; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(run_python(code).split())
    assert loaded.isdisjoint(
        {"torch", "numpy", "aiohttp", "rich", "lark", "tokenizers", "jinja2", "gguf", "transformers"}
    )


def test_r183_version_is_printed_without_torch() -> None:
    code = """
import sys
sys.argv = ["radixkv", "--version"]
from radixkv.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
assert "torch" not in sys.modules and "rich" not in sys.modules
"""
    assert run_python(code).startswith("radixkv 0.")
