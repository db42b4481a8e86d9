"""Answers as text: a table, JSON, YAML, or names."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from kindex.cli.tables import table_of
from kindex.cli.yaml_text import dump_yaml
from kindex.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from kindex.cli.query import Answer


class Output(StrEnum):
    """The forms of an answer, as kubectl calls them."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def for_people(self) -> bool:
        """Whether it is made to be looked at, so that an empty answer needs a word."""
        return self not in (Output.JSON, Output.YAML)


class PlanOutput(StrEnum):
    """The forms of a plan."""

    TEXT = "text"
    JSON = "json"


def printed(
    answers: Sequence[Answer], output: Output, *, now: datetime, headers: bool = True, namespaces: bool = False
) -> Iterator[str]:
    """Give the text of *answers*, in pieces that end with a line.

    JSON and YAML are one List over all kinds, as kubectl gives it. Each kind has a table of its own, with the kind
    in its names when there are several, and with namespaces when *namespaces* says so or more than one is shown.
    """
    objects = [obj for answer in answers for obj in answer.objects]
    whole = {"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}}
    match output:
        case Output.JSON:
            yield msgspec.json.format(msgspec.json.encode(whole), indent=4).decode() + "\n"
        case Output.YAML:
            yield dump_yaml(whole)
        case Output.NAME:
            for answer in answers:
                for obj in answer.objects:
                    yield f"{answer.kind.resource}/{key_of(obj).name}\n"
        case Output.TABLE | Output.WIDE:
            filled = [answer for answer in answers if answer.objects]
            for number, answer in enumerate(filled):
                if number:
                    yield "\n"
                several = namespaces or len({key_of(obj).namespace for obj in answer.objects}) > 1
                lines = table_of(
                    answer.objects,
                    answer.kind,
                    now=now,
                    wide=output is Output.WIDE,
                    namespaces=several and answer.has_namespaces,
                    resources=len(filled) > 1,
                    headers=headers,
                )
                yield "".join(f"{line}\n" for line in lines)


def printed_plans(answers: Sequence[Answer], output: PlanOutput) -> str:
    """Give the plans of *answers*, one after the other; as JSON, a list with the kind of each."""
    if output is PlanOutput.TEXT:
        return "".join(f"{answer.plan}\n" for answer in answers)
    plans = [{"kind": answer.kind.name, "group": answer.kind.group, **answer.plan.to_dict()} for answer in answers]
    return msgspec.json.format(msgspec.json.encode(plans), indent=2).decode() + "\n"
