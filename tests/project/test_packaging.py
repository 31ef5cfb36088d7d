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


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built from scratch with the tools that are installed: no index, no shared build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    settings = ["--no-deps", "--no-index", "--no-build-isolation", f"-Cbuild-dir={folder / 'build'}"]
    pip("wheel", *settings, "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the wheel alone."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    return folder


@pytest.mark.processes
def test_r180_wheel_lists_grammar_types_and_native_module(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "frontend_lang/syntax/grammar.lark" in names
    for package in ("radixkv", "frontend_lang", "radixkv_kernels"):
        assert f"{package}/py.typed" in names
    assert any(name.startswith("radixkv_kernels/_cpu") and name.endswith(".so") for name in names)
    assert not any(name.startswith(("tests/", "examples/", "kernels/")) for name in names)


@pytest.mark.processes
def test_r180_installed_wheel_runs_a_program_outside_the_repository(installed: Path) -> None:
    code = """
import frontend_lang
from frontend_lang.scripted import ScriptedRuntime
from radixkv_kernels.native import has_native
source = "user: Where?\\nassistant gen place\\nreturn place"
result = frontend_lang.run(source, {}, runtime=ScriptedRuntime(answers=["Oslo"]))
print(result.value, has_native(), frontend_lang.__file__)
"""
    value, native, file = run_python(code, path=installed).split()
    assert (value, native) == ("Oslo", "True")
    assert Path(file).is_relative_to(installed)


@pytest.mark.processes
def test_r180_installed_command_answers(installed: Path) -> None:
    script = (installed / "bin" / "radixkv").read_text(encoding="utf-8")
    body = script.partition("\n")[2].replace("__name__ == '__main__'", "True").replace('__name__ == "__main__"', "True")
    for argument, answer in (("--help", "Usage: "), ("--version", "radixkv 0.")):
        code = f"import sys; sys.argv = ['radixkv', {argument!r}]\n{body}"
        assert run_python(code, path=installed).startswith(answer)


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
