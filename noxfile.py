"""The built wheel, tested on every Python that kindex names, and with the lowest versions that it claims: ``nox``.

Arguments go to pytest: ``nox -s tests-3.12 -- tests/unit``. A Python that is not installed is skipped with a warning.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [found[1] for each in PROJECT["classifiers"] if (found := re.fullmatch(r".*:: (3\.\d+)", each))]
# Those that a user installs; their floors are tested as well.
EXTRAS = ("asyncio", "cli", "metrics")
# What reads the code and does not run it.
LINTERS = {"codespell", "import-linter", "mypy", "nox", "pyright", "ruff", "sortedcontainers-stubs", "types-PyYAML"}

nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["tests", "lowest"]


def name_of(requirement: str) -> str:
    """Give the name of what is required."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def lowest_of(requirements: list[str]) -> list[str]:
    """Pin each requirement that has a floor to that floor."""
    floors = [re.match(r"([\w.-]+)>=([\w.]+)", each) for each in requirements]
    return [f"{floor[1]}=={floor[2]}.*" for floor in floors if floor]


def run_tests(session: nox.Session, pins: list[str]) -> None:
    """Install the wheel and what its tests need, and run them; the checkout comes last on the path."""
    built = Path(session.create_tmp()) / "dist"
    session.install("build", "hatchling>=1.27")
    session.run_install("python", "-m", "build", "--no-isolation", "--wheel", "--outdir", str(built), silent=True)
    wheel = max(built.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    constraints = built / "constraints.txt"
    constraints.write_text("\n".join(pins))
    needed = [each for each in PROJECT["optional-dependencies"]["dev"] if name_of(each) not in LINTERS]
    tools = [each for each in needed if name_of(each) != PROJECT["name"]]
    session.install("--constraint", str(constraints), f"{wheel}[{','.join(EXTRAS)}]", *tools)
    # As an editable checkout stands: behind the wheel, for what the tests share.
    packages = session.run_install(
        "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", silent=True
    )
    (Path(str(packages).strip()) / "kindex_checkout.pth").write_text(f"{ROOT}\n")
    session.run(
        *("python", "-P", "-m", "pytest", "-p", "no:benchmark", *session.posargs),
        env={"KINDEX_TEST_WHEEL": "1", "KINDEX_VALIDATE": "1"},
    )


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests on one Python."""
    run_tests(session, [])


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that the wheel claims to work with."""
    extras = PROJECT["optional-dependencies"]
    run_tests(session, lowest_of([*PROJECT["dependencies"], *(each for name in EXTRAS for each in extras[name])]))
