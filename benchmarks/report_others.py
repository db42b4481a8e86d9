"""What programs of their own measured, on the page: informers, endpoints, external-dns, memory."""

from __future__ import annotations

from typing import Any

from benchmarks.report_tables import table, times, us

MB = 1_000_000


def sections(read_in: dict[str, Any]) -> list[str]:
    """Give a section for each file of results that is there."""
    made = {"informers": informers, "endpoints": endpoints, "external_dns": external_dns, "memory": memory}
    return [make(read_in[name]) for name, make in made.items() if name in read_in]


def informers(found: dict[str, Any]) -> str:
    """Show how long informers take to be synced, and what they keep."""
    about = (
        "`python -m benchmarks.bench_informers`: the first list of generated pods from a server on the same machine,"
        " then events; [informers.md](informers.md) says what each is. The slowest first.\n"
    )
    parts = ["## Informers\n", about]
    for kind, meaning in (("rendered", "A server that had its answers ready"), ("costly", "A server that had to work")):
        if kind not in found:
            continue
        body = [
            [
                row["subject"],
                f"{row['pods']:,}",
                f"{row['synced_s']:.2f} ({min(row['synced_all_s']):.2f}-{max(row['synced_all_s']):.2f})",
                f"{row['cpu_s']:.2f}",
                f"{row['kept_bytes'] / MB:,.0f}",
                f"{row['peak_bytes'] / MB:,.0f}",
                f"{row['events_per_s']:,.0f}" if row.get("events_per_s") else "",
            ]
            for row in sorted(found[kind], key=lambda row: (-row["pods"], -row["synced_s"]))
        ]
        head = ["", "pods", "synced, s (least-most)", "CPU, s", "kept, MB", "peak, MB", "events a second"]
        parts += [f"{meaning}:\n", table(head, body)]
    return "\n".join(parts)


def endpoints(found: dict[str, Any]) -> str:
    """Show what an event of a service or pod takes, by walking and by index."""
    parts = ["## Events of services and pods\n"]
    parts.append("`python -m benchmarks.bench_endpoints`: microseconds of an event, the median; losses first.\n")
    for event in ("service event", "pod event"):
        rows = [row for row in found["rows"] if event in row]
        rows.sort(key=lambda row: row[event]["walk"]["us"] / row[event]["index"]["us"])
        body = [
            [
                row["case"],
                f"{row['pods']:,}",
                f"{row[event]['index']['answer']:,.0f}",
                us(row[event]["walk"]["us"]),
                us(row[event]["index"]["us"]),
                times(row[event]["walk"]["us"] / row[event]["index"]["us"]),
            ]
            for row in rows
        ]
        if body:
            head = [event, "pods", "found", "walked", "kindex", "times faster"]
            parts.append(table(head, body))
    return "\n".join(parts)


def external_dns(found: dict[str, Any]) -> str:
    """Show a loop over gateways and virtual services."""
    body = [
        [
            row["way"],
            f"{row['seconds'] * 1e3:,.2f}",
            f"{row['requests']:,}",
            times(group[0]["seconds"] / row["seconds"]),
        ]
        for group in (found["few"], found["rows"])
        for row in group
    ]
    return "\n".join(
        [
            "## A loop over gateways\n",
            "`python -m benchmarks.bench_external_dns`: each group is compared with its first line.\n",
            table(["", "a loop, ms", "requests", "times faster"], body),
        ]
    )


def memory(found: dict[str, Any]) -> str:
    """Show what the label index takes, beside client-go's."""
    rows = [row for row in found["rows"] if "times_less" in row]
    rows.sort(key=lambda row: float(row["times_less"]))
    body = []
    for row in rows:
        shape = row["shape"]
        name = f"{shape['namespaces']} namespace{'s' * (shape['namespaces'] > 1)}, {shape['distribution']}"
        name += f", {shape['values']:,} values, {shape['labels']} labels"
        name += f" and {shape['unique']} unique" if shape["unique"] else ""
        name += ", together" if shape["together"] else ""
        figures = [f"{row['labels'] / MB:,.1f}", f"{row['client_go'] / MB:,.1f}", f"{row['times_less']:,.1f}"]
        body.append([name, *figures])
    return "\n".join(
        [
            "## Memory of the label index\n",
            f"`make bench-memory`; [memory.md](memory.md) explains it. {found['client_go']}. The least saving first.\n",
            table(["", "kindex, MB", "client-go, MB", "times less"], body),
        ]
    )
