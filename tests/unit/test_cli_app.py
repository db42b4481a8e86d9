"""The command line as a process: exit codes, errors without tracebacks, pipes, ``python -m kindex``."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console as Terminal
from typer.testing import CliRunner

import kindex.cli.app as command_line
from kindex import __main__
from kindex.cli import progress
from kindex.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "x"}}


def _run(*arguments: str, stdin: bytes = json.dumps(POD).encode()) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def _interrupts_are_heard() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT, and so would the commands here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _command(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "kindex", *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)  # noqa: S603 - our own


def test_a_selector_that_cannot_be_read_is_shown_with_a_caret() -> None:
    """A malformed selector ends with 2, and the place is marked under the text."""
    code, out, err = _run("query", "-", "-l", "app in web")
    assert (code, out) == (2, "")
    first, text, caret = err.splitlines()
    assert first.startswith("error: bad selector: ")
    assert (text, caret) == ("  app in web", "         ^")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-l", "a,,b"], "error: bad selector: "),
        (["--field-selector", "a"], "error: bad selector: "),
        (["--field-selector", "a..b=c"], "error: bad path: "),
        (["--field-selector", "a[*].b=c"], "error: bad path: a field selector compares one value, and [*] stands for"),
        (["--sort-by", "a..b"], "error: bad path: "),
        (["--index", "spec..b"], "error: bad path: "),
        (["--index", "a b"], "error: --index 'a b' is no path, and no label key: its name must be"),
        (["--index", ""], "error: --index '' is no path, and no label key: its name is empty"),
        (["-n", ""], "error: a namespace is empty; to ask for all of them leave -n out, or say -A"),
        (["-n", "a,"], "error: a namespace is empty"),
        (["--limit", "-1"], "error: --limit -1 is below zero"),
    ],
)
def test_what_was_typed_and_cannot_be_ends_with_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    """Slips in options are told before any file is read, and end with 2."""
    for command in ("query", "explain"):
        if command == "explain" and "--sort-by" in arguments:
            continue
        code, out, err = _run(command, str(tmp_path / "absent.json"), *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(message)


def test_unknown_options_forms_and_kinds_end_with_2() -> None:
    """An option, a form or a kind that there is not ends with 2."""
    assert _run("query", "-", "--nonsense")[0] == 2
    assert _run("query", "-", "-o", "csv")[0] == 2
    assert _run("query", "frobs", "-") == (2, "", "error: no kind is called 'frobs' (the input has: pods)\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "error: standard input: empty, there are no objects in it\n"),
        (b'{"a": 1}', "error: standard input: not a Kubernetes object: it has no apiVersion"),
        (b'{"kind": "List", "items": [', "error: standard input: the JSON ends too early"),
        (b"\x1f\x8b\x08\x00", "error: standard input: the gzip data is truncated"),
    ],
)
def test_what_was_read_and_cannot_be_ends_with_1(data: bytes, message: str) -> None:
    """Input that is no Kubernetes objects ends with 1, and nothing is printed as an answer."""
    code, out, err = _run("query", "-", stdin=data)
    assert (code, out) == (1, "")
    assert err.startswith(message)


def test_a_missing_file_ends_with_1(tmp_path: Path) -> None:
    """A file that is not there is named; a kind alone reads standard input."""
    missing = str(tmp_path / "pods.json")
    assert _run("query", missing) == (1, "", f"error: {missing}: no such file or directory\n")
    assert _run("query", "pods.json")[2] == "error: pods.json: no such file or directory\n"
    assert _run("query", "po", "-o", "name")[:2] == (0, "pod/a\n")


def test_a_traceback_is_shown_when_asked_for() -> None:
    """-v shows where an error comes from, and changes nothing else."""
    code, _, err = _run("query", "-", "-l", "a,,b")
    assert "Traceback" not in err
    verbose = _run("query", "-", "-l", "a,,b", "-v")
    assert verbose[0] == code
    assert "Traceback" in verbose[2]
    assert verbose[2].endswith(err)


def test_a_bug_is_no_traceback_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw is one sentence and a code of its own, with its place on demand."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(command_line, "load", broken)
    assert _run("query", "-") == (70, "", "error: internal error: ZeroDivisionError: oops (-v shows where)\n")
    assert "in broken" in _run("query", "-", "-v")[2]


def test_an_operating_system_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk and its like end with 1."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command_line, "load", full)
    assert _run("query", "-") == (1, "", "error: [Errno 28] No space left on device\n")


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and without a word."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "load", interrupted)
    assert _run("query", "-") == (130, "", "")


def test_no_file_and_a_terminal_is_a_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument, a command at a terminal does not wait for input that nobody types."""
    monkeypatch.setattr(command_line, "is_terminal", lambda _: True)
    message = "error: name a file or a folder, or - for standard input, or a kind of a cluster, such as pods\n"
    assert _run("query") == (2, "", message)


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is a terminal, standard output none; what is little is shown, too."""
    monkeypatch.setattr(progress, "_LONG_LOAD", 1_000)
    monkeypatch.setattr(progress, "_MANY", 300)
    for module in (progress, command_line):
        monkeypatch.setattr(module, "is_terminal", lambda stream: stream is sys.stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "Console", lambda **_: Terminal(file=sys.stderr, force_terminal=True, width=80))


@pytest.fixture
def many(tmp_path: Path) -> str:
    """A file of some objects."""
    file = tmp_path / "pods.jsonl"
    labels = {"app": "web"}
    pods = [{**POD, "metadata": {"name": f"p{number}", "labels": labels}} for number in range(300)]
    file.write_text("\n".join(map(json.dumps, pods)))
    return str(file)


LONG = [
    (["query", "-o", "name"], ["reading", "256 objects", "asking 300 objects", "writing 300 objects"]),
    (["explain"], ["reading", "256 objects", "asking 300 objects"]),
    (["analyze"], ["reading", "256 objects", "analyzing 300 objects"]),
]


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(("arguments", "steps"), LONG)
def test_long_work_says_how_far_it_is(arguments: list[str], steps: list[str], many: str) -> None:
    """A terminal sees what goes on: the bytes and objects that were read, and what is done with them."""
    code, out, err = _run(arguments[0], many, *arguments[1:])
    assert (code, bool(out)) == (0, True)
    places = [err.index(step) for step in steps]
    assert places == sorted(places)


@pytest.mark.parametrize(("arguments", "steps"), LONG)
def test_progress_is_for_terminals(
    arguments: list[str], steps: list[str], many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no terminal sees nothing of it, however long it takes."""
    assert steps
    monkeypatch.setattr(progress, "_LONG_LOAD", 1_000)
    monkeypatch.setattr(progress, "_MANY", 300)
    code, _, err = _run(arguments[0], many, *arguments[1:])
    assert (code, err) == (0, "")


def test_python_m_kindex_is_the_command(tmp_path: Path) -> None:
    """``python -m kindex`` answers as the command does, in UTF-8 whatever the locale is."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({**POD, "data": {"greeting": "grüße"}}, ensure_ascii=False), encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "kindex", "query", str(file), "-o", "json"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)  # noqa: S603 - our own
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["items"][0]["data"] == {"greeting": "grüße"}


def test_a_reader_that_goes_away_is_no_error() -> None:
    """When whoever reads the answer stops, the command stops too, without a word."""
    text = "\n".join(json.dumps({**POD, "metadata": {"name": f"pod-{n}", "namespace": "x"}}) for n in range(20_000))
    with _command("query", "-", "-o", "name") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(text.encode())
        process.stdin.close()
        assert process.stdout.readline() == b"pod/pod-0\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def _wait_a_little(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)


def _opened_too(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """Open *fifo* once the command has opened it, and so is past its imports; never waits for one that has ended."""
    while True:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or process.poll() is not None:
                raise
        _wait_a_little(process)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_in_the_middle_of_reading(tmp_path: Path) -> None:
    """SIGINT while input is read ends the process with 130 and without a traceback."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with _command("query", str(fifo)) as process:
        writer = _opened_too(fifo, process)
        os.write(writer, b'{"kind":')
        while process.poll() is None:
            # Again, if need be: an interrupt that comes within a finalizer or a callback of Python's is lost there.
            process.send_signal(signal.SIGINT)
            _wait_a_little(process)
        os.close(writer)
        assert process.stderr
        assert (process.returncode, process.stderr.read()) == (130, b"")


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where typer is missing, the command names the extra and ends with 2."""
    monkeypatch.setattr(sys, "stderr", stderr := io.StringIO())

    def missing(name: str, *_: object, **__: object) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="typer")

    monkeypatch.setattr("builtins.__import__", missing)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    monkeypatch.undo()
    assert ended.value.code == 2
    assert "pip install 'kube-kindex[cli]'" in stderr.getvalue()


# --- help, completion, colours ----------------------------------------------------------------------------------------

COMMANDS = ["query", "explain", "analyze", "doctor", "demo", "bench"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_examples(command: str) -> None:
    """--help of each command has examples, a line each, of options that there are."""
    code, out, _ = _run(command, "--help")
    assert code == 0
    text, _, examples = out.partition("Examples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert f"kindex {command}" in line
        for option in re.findall(r"(?<= )--?[a-z-]+", line.partition("kindex ")[2]):
            assert re.search(rf"{option}\b", text), option


def test_the_first_help_fits() -> None:
    """What is typed first has each command on one line of an ordinary terminal, whole, and examples."""
    result = CliRunner().invoke(app, ["--help"], terminal_width=80)
    commands, _, examples = result.stdout.partition("Commands:\n")[2].partition("Examples:\n")
    assert [line.split()[0] for line in commands.splitlines() if line.strip()] == COMMANDS
    assert all(line.endswith(".") and not line.endswith("..") for line in commands.splitlines() if line.strip())
    assert "kindex demo" in examples


def test_the_version_is_told() -> None:
    """``kindex --version`` is one line."""
    assert _run("--version") == (0, f"kindex {version('kube-kindex')}\n", "")


def test_help_names_every_command() -> None:
    """--help lists the commands that have tests here, and no other."""
    commands = [each.name or each.callback.__name__ for each in app.registered_commands if each.callback]
    assert sorted(commands) == sorted(COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    """A shell that asks for it gets a script, and then the names of commands."""
    environment = {**os.environ, "_KINDEX_COMPLETE": f"source_{shell}"}
    command = [sys.executable, "-m", "kindex"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)  # noqa: S603 - our own
    assert b"_KINDEX_COMPLETE" in done.stdout
    environment = {**os.environ, "_KINDEX_COMPLETE": "complete_bash", "COMP_WORDS": "kindex an", "COMP_CWORD": "1"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)  # noqa: S603 - our own
    assert done.stdout.split() == [b"analyze"]


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal shows colours, unless NO_COLOR is set or it has none; what is no terminal gets none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("kindex.cli.bench._ASKED_SECONDS", 0.0)
    assert "\x1b" not in "".join(_run("bench", "--pods", "1")[1:])
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = io.StringIO()
    monkeypatch.setattr(command_line, "Console", lambda **_: Terminal(file=shown, force_terminal=True))
    assert _run("bench", "--pods", "1")[0] == 0
    assert bool(re.search(r"\x1b\[(?:\d+;)*3[0-9]", shown.getvalue())) is coloured
