"""The command ``kindex``: its options, its errors, its exit codes.

What was typed and cannot be ends with code 2, what was read and cannot be with 1. A traceback is shown when asked for.
"""

from __future__ import annotations

import io
import signal
import sys
import traceback
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from rich.console import Console
from typer.core import TyperGroup

from kindex.cli.analyze import AnalysisOutput, Wanted, analyses, printed_analyses
from kindex.cli.bench import BenchOutput, run_bench
from kindex.cli.cluster import Cluster, ClusterError
from kindex.cli.demo import run_demo
from kindex.cli.doctor import findings_of, paragraph, versions
from kindex.cli.documents import InputError
from kindex.cli.inputs import inputs_of
from kindex.cli.printing import Output, PlanOutput, printed, printed_plans
from kindex.cli.progress import asking_cluster, is_terminal, listing, reading, working
from kindex.cli.query import Question, answers, asked_kinds, load, of_namespaces
from kindex.cli.watching import check_watched, watched
from kindex.errors import KindexError, PathSyntaxError, QueryError, SelectorSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.cli.doctor import Finding
    from kindex.cli.query import Answer, Kinds

BAD_INPUT: Final = 1
BAD_USE: Final = 2
INTERNAL: Final = 70
INTERRUPTED: Final = 130
_VERBOSE: Final = "kindex.verbose"


class _Group(TyperGroup):
    """Turns errors into a sentence on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - a Context of the click that typer brings along
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending: a second one would change how
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # typer ends quietly
        except KindexError as error:
            code = BAD_INPUT if isinstance(error, InputError | ClusterError) else BAD_USE
            raise _exit(ctx, _sentence(error), code) from error
        except OSError as error:
            raise _exit(ctx, str(error), BAD_INPUT) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise  # errors of use, and exits
            raise _exit(ctx, f"internal error: {type(error).__name__}: {error} (-v shows where)", INTERNAL) from error


def _exit(ctx: Any, sentence: str, code: int) -> typer.Exit:  # noqa: ANN401 - as above
    if ctx.meta.get(_VERBOSE):
        traceback.print_exc()
    print(f"error: {sentence}", file=sys.stderr)
    return typer.Exit(code)


def _sentence(error: KindexError) -> str:
    if isinstance(error, SelectorSyntaxError | PathSyntaxError):
        caret = "".join(f"\n  {line}" for line in error.caret().splitlines())
        return f"bad {error.what}: {error.reason}{caret}"
    return str(error)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # JSON and YAML are UTF-8 wherever they are made; what no encoding has, such as odd file names, is escaped.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    app(prog_name="kindex")


def _examples(*lines: str) -> str:
    """Give what --help ends with; the mark keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    name="kindex",
    cls=_Group,
    help="Ask files of Kubernetes objects, or a cluster, by indexes.",
    epilog=_examples(
        "kindex demo",
        "kubectl get po -A -o json | kindex query - -l app=web",
        "kindex analyze po --context staging",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _note_version(value: bool) -> None:  # noqa: FBT001 - typer's
    if value:
        print(f"kindex {metadata.version('kube-kindex')}")
        raise typer.Exit


@app.callback()
def _about(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_note_version, is_eager=True)
    ] = False,
) -> None:
    pass


def _note_verbose(ctx: typer.Context, value: bool) -> bool:  # noqa: FBT001 - typer's
    ctx.meta[_VERBOSE] = value
    return value


_Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KIND] [FILE]...",
        help="A kind (pods, po, Pod, deployments.apps, po,svc), unless a file of that name exists; then files, folders,"
        " or - for standard input, which is also read when no file is named and it is not a terminal. At a terminal a"
        " kind alone is asked of the cluster; with --kubeconfig or --context it always is.",
        show_default=False,
    ),
]
_Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig",
        metavar="PATH",
        help="Ask the cluster of this file. [default: $KUBECONFIG, ~/.kube/config, or the cluster that this runs in]",
        show_default=False,
    ),
]
_Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Ask the cluster of this context of the kubeconfig. [default: its current one]",
        show_default=False,
    ),
]
_Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Only this namespace; several by commas or by repeating it. [default: all]",
    ),
]
_AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="All namespaces, with a column for them; -n does not count then.")
]
_Selector = Annotated[
    str | None,
    typer.Option(
        "--selector", "-l", metavar="SELECTOR", help="Label selector, such as app=web,tier in (gold,silver),!canary."
    ),
]
_FieldSelector = Annotated[
    str | None,
    typer.Option(
        "--field-selector",
        metavar="SELECTOR",
        help="Field selector, such as spec.nodeName=n1,status.phase!=Running; any path.",
    ),
]
_Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="NUMBER", help="At most so many objects of each kind.", show_default=False),
]
_SortBy = Annotated[
    str | None,
    typer.Option("--sort-by", metavar="PATH", help="JSONPath, such as .metadata.creationTimestamp. [default: by key]"),
]
_Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        metavar="KEY|PATH",
        help="Index this label key or path; repeat it for more. A path begins with metadata., spec., status. or a dot,"
        " or has a [ in it; all else is a label key: --index app --index spec.nodeName. Without it a query scans what"
        " its namespace leaves.",
    ),
]
_Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show tracebacks.", callback=_note_verbose, is_eager=True)
]


@app.command(
    short_help="Print the objects that answer a query, as kubectl get does.",
    epilog=_examples(
        "kindex query po -l app=web -n prod --context staging",
        'kubectl get po -A -o json | kindex query - -l "tier in (gold,silver)" --explain',
        "kindex query dump.json --field-selector spec.nodeName=n1 -o name",
        "kindex query po -l app=web -w",
    ),
)
def query(
    arguments: _Arguments = None,
    *,
    kubeconfig: _Kubeconfig = None,
    context: _Context = None,
    namespace: _Namespaces = None,
    all_namespaces: _AllNamespaces = False,
    selector: _Selector = None,
    field_selector: _FieldSelector = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="The form of the answer.")] = Output.TABLE,
    sort_by: _SortBy = None,
    no_headers: Annotated[bool, typer.Option("--no-headers", help="Tables without their first line.")] = False,
    limit: _Limit = None,
    index: _Indexes = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also print the plan, on standard error.")] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", "-w", help="Ask a cluster, and go on with what enters, changes in or leaves the answer."
        ),
    ] = False,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Print the objects that answer a query, as kubectl get does.

    FILE is the output of kubectl get -o json or -o yaml, manifests, or JSON lines, gzipped or not, or a folder of
    such files. Objects are sorted by namespace and name. Of a cluster all objects of the kind are read, in the
    namespaces of -n; they are selected here, so that a field selector may ask for any path.
    """
    names = None if all_namespaces else namespace
    asking = _asking(names, selector, field_selector, limit, index, sort_by)
    access = _Access(kubeconfig, context)
    if watch:
        inputs = inputs_of(arguments or (), cluster=True, terminal=False)
        _watch(asking(inputs.kind), access, output, explain=explain, headers=not no_headers, namespaces=all_namespaces)
        return
    question, kinds = _loaded(arguments, asking, access)
    found = _answered(question, kinds)
    if explain:
        print(printed_plans(found, PlanOutput.TEXT), end="", file=sys.stderr)
    if output.for_people and not any(answer.objects for answer in found):
        place = f" in {names[0]} namespace." if names and len(names) == 1 else ""
        print(f"No resources found{place}", file=sys.stderr)
        return
    texts = printed(found, output, now=datetime.now(UTC), headers=not no_headers, namespaces=all_namespaces)
    if is_terminal(sys.stdout):
        sys.stdout.writelines(texts)
        return
    with working("writing", sum(len(answer.objects) for answer in found)):
        sys.stdout.writelines(texts)


@app.command(
    short_help="Print how a query is answered, and what had to be scanned.",
    epilog=_examples(
        "kindex explain dump.json -l app=web --index app",
        "kindex explain po --context staging --field-selector spec.nodeName=n1 --index spec.nodeName",
    ),
)
def explain(
    arguments: _Arguments = None,
    *,
    kubeconfig: _Kubeconfig = None,
    context: _Context = None,
    namespace: _Namespaces = None,
    all_namespaces: _AllNamespaces = False,
    selector: _Selector = None,
    field_selector: _FieldSelector = None,
    output: Annotated[PlanOutput, typer.Option("--output", "-o", help="The form of the plan.")] = PlanOutput.TEXT,
    limit: _Limit = None,
    index: _Indexes = None,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Print how a query is answered: by which indexes, and what had to be scanned."""
    names = None if all_namespaces else namespace
    asking = _asking(names, selector, field_selector, limit, index, None)
    question, kinds = _loaded(arguments, asking, _Access(kubeconfig, context))
    found = _answered(question, kinds)
    print(printed_plans(found, output), end="")


@app.command(
    short_help="Print what an index of each label would take.",
    epilog=_examples(
        "kindex analyze po --context staging",
        "kubectl get po -A -o json | kindex analyze - --model pods=150000 --paths spec.nodeName",
    ),
)
def analyze(
    arguments: _Arguments = None,
    *,
    kubeconfig: _Kubeconfig = None,
    context: _Context = None,
    namespace: _Namespaces = None,
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--paths",
            metavar="PATH",
            help="Look at this field too, such as spec.nodeName; several by commas or repeating.",
        ),
    ] = None,
    annotations: Annotated[
        list[str] | None,
        typer.Option(
            "--annotations",
            metavar="KEY",
            help="Look at this annotation too, or at all; several by commas or repeating.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="KIND=NUMBER",
            help="Reckon with so many objects, such as pods=150000, as if these were a random sample of them.",
        ),
    ] = None,
    output: Annotated[
        AnalysisOutput, typer.Option("--output", "-o", help="The form of the analysis.")
    ] = AnalysisOutput.TABLE,
    all_keys: Annotated[bool, typer.Option("--all", help="Every key, not only those that cost most.")] = False,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Print what an index of each label would take, and which are worth it.

    OBJECTS have the label, with so many distinct VALUES; SINGLES are the values of one object only; LARGEST is the
    share of all objects that the most frequent value has; BYTES is the memory of the index. Verdicts: index; constant,
    since one value has nearly all objects; near-unique, a trap, since values hardly repeat; rare, since few have it.
    """
    wanted = Wanted.parse(paths=paths or (), annotations=annotations or (), model=model or ())
    asking = _asking(namespace, None, None, None, None, None)
    question, kinds = _loaded(arguments, asking, _Access(kubeconfig, context))
    kinds = of_namespaces(kinds, question.namespaces)
    with working("analyzing", _count(kinds)):
        found = list(analyses(wanted, kinds))
    if not found and output is AnalysisOutput.TABLE:
        print("No resources found", file=sys.stderr)
    console = Console(highlight=False)
    width = console.width if console.is_terminal else None
    for line in printed_analyses(found, output, width=width, all_rows=all_keys):
        # What a terminal has to fold it folds anywhere; prose reads better if it is folded between words.
        console.print(line, soft_wrap=width is None or line.no_wrap)


@app.command(
    short_help="Say whether a cluster can be followed from here.",
    epilog=_examples(
        "kindex doctor",
        "kindex doctor deployments.apps --context staging -n prod,test",
    ),
)
def doctor(
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="What to ask for, such as pods or deployments.apps.")
    ] = "pods",
    *,
    kubeconfig: _Kubeconfig = None,
    context: _Context = None,
    namespace: _Namespaces = None,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Say whether a cluster can be followed from here, with what, and which rights there are.

    Tries what an informer does: it asks for the server's version, lists one object, and opens watches for a moment.
    The last paragraph is for a bug report, and names nothing of the cluster. Ends with 1 if something that is needed
    does not work.
    """
    question = _asking(namespace, None, None, None, None, None)(kind)
    print(versions(), flush=True)
    findings: list[Finding] = []
    coming = findings_of(kubeconfig, context, question.words, question.namespaces)
    while True:
        with asking_cluster():  # not while it is printed: both may be the same terminal
            finding = next(coming, None)
        if finding is None:
            break
        print(finding, flush=True)
        findings.append(finding)
    print(f"\nFor a bug report:\n{paragraph(findings)}", flush=True)
    for finding in findings:
        if finding.error is not None:
            raise finding.error


@app.command(
    short_help="Show a generated cluster at work, by index and by scan.",
    epilog=_examples(
        "kindex demo",
        "kindex demo --pods 100000 --seconds 20",
    ),
)
def demo(
    *,
    pods: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many pods the cluster has.")] = 20_000,
    namespaces: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many namespaces they are in.")] = 60,
    seconds: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long the cluster lives.")] = 6.0,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Another seed is another cluster.")] = 1,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Show a generated cluster at work, and ask it the same by index and by scan.

    An API server on the loopback serves it, an informer follows it over HTTP, pods change, and two controllers answer
    for each change, one by index and one by scan. Then come questions to the cluster as it stands, a plan, and what
    the indexes take.
    """
    run_demo(pods=pods, namespaces=namespaces, seconds=seconds, seed=seed, console=Console())


@app.command(
    short_help="Measure on this machine what an index is worth.",
    epilog=_examples("kindex bench", "kindex bench --pods 5000 -o json"),
)
def bench(
    *,
    pods: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many pods the largest cluster has.")] = 30_000,
    output: Annotated[BenchOutput, typer.Option("--output", "-o", help="The form of the figures.")] = BenchOutput.TABLE,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Another seed is another cluster.")] = 1,
    verbose: _Verbose = False,  # noqa: ARG001 - its callback takes it
) -> None:
    """Measure on this machine what an index is worth and what it costs, in about half a minute.

    Three generated clusters, of which each has ten times the pods of the one before, are asked the same by index and
    by looking at every pod, which must find the same. Then pods are written with indexes and without.
    """
    run_bench(pods=pods, seed=seed, output=output, console=Console(highlight=False), progress=Console(stderr=True))


class _Access(NamedTuple):
    """What the command line says of the cluster to ask."""

    kubeconfig: str | None
    context: str | None

    @property
    def named(self) -> bool:
        return self != (None, None)


def _asking(
    namespaces: list[str] | None,
    selector: str | None,
    field_selector: str | None,
    limit: int | None,
    indexes: list[str] | None,
    sort_by: str | None,
) -> Callable[[str], Question]:
    """Give what makes a question of a kind."""

    def asking(kind: str) -> Question:
        return Question.parse(
            kind=kind,
            namespaces=namespaces or (),
            label_selector=selector,
            field_selector=field_selector,
            sort_by=sort_by,
            limit=limit,
            indexes=indexes or (),
        )

    return asking


def _loaded(arguments: list[str] | None, asking: Callable[[str], Question], access: _Access) -> tuple[Question, Kinds]:
    """Read what is named, and choose the kinds; what is asked is parsed before anything is read."""
    inputs = inputs_of(arguments or (), cluster=access.named, terminal=is_terminal(sys.stdin))
    question = asking(inputs.kind)
    try:
        if inputs.of_cluster:
            return question, _listed(question, access)
        with reading(inputs.paths) as progress:
            kinds = load(inputs.paths, sys.stdin.buffer, say=_say, progress=progress)
    except (ClusterError, QueryError) as error:
        if not inputs.guessed:
            raise
        sentence = f"{inputs.kind!r} is no file here, and taken for a kind of a cluster: {error}"
        raise type(error)(sentence) from error
    except InputError as error:
        if not (inputs.guessed and inputs.kind):
            raise
        raise InputError(error.where, f"{error.reason} (--kubeconfig or --context asks a cluster)") from error
    return question, asked_kinds(question, kinds, say=_say)


def _answered(question: Question, kinds: Kinds) -> list[Answer]:
    with working("asking", _count(kinds)):
        return list(answers(question, kinds, say=_say))


def _count(kinds: Kinds) -> int:
    return sum(map(len, kinds.values()))


def _listed(question: Question, access: _Access) -> Kinds:
    """Read the kinds of a cluster that the question names."""
    with Cluster.of(*access) as cluster, listing() as report:
        wanted = cluster.wanted(question.words, question.namespaces)
        return {each.kind: cluster.listed(each, report) for each in wanted}


def _watch(
    question: Question, access: _Access, output: Output, *, explain: bool, headers: bool, namespaces: bool
) -> None:
    """Print the answer, and its changes until an interrupt."""
    check_watched(question, explain=explain)
    with Cluster.of(*access) as cluster:
        wanted = cluster.wanted(question.words, question.namespaces)
        for text in watched(question, cluster, wanted, output, say=_say, headers=headers, namespaces=namespaces):
            print(text, end="", flush=True)


def _say(sentence: str) -> None:
    print(f"kindex: {sentence}", file=sys.stderr)
