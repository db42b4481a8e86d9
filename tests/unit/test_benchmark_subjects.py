"""What benchmarks compare gives the same answers: otherwise their times would say nothing."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.named import ANCHORS, OTHERS, Workload, indexed_labels, questions
from benchmarks.subjects import SUBJECTS, Subject, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = 600


NEEDED = {"kubernetes.informer": "kubernetes.informer", "kopf's Index": "kopf"}
"""What is missing beside old clients."""


def subject_called(name: str, made: list[dict[str, Any]]) -> Subject:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    subject = SUBJECTS[name](indexed_labels(made))
    subject.replace(made)
    return subject


def names_of(pods: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted(map(key_of, pods))


def check_answers(subject: Subject, made: list[dict[str, Any]]) -> None:
    for name, question in questions(made).items():
        expected = names_of([pod for pod in made if question.matches(pod)])
        assert names_of(subject.query(question)()) == expected, name
        assert subject.counter(question)() == len(expected), name
    for pod in made[::50]:
        assert subject.get(key_of(pod)) is pod
    assert subject.get(("nowhere", "nothing")) is None


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("workload", [*ANCHORS, *OTHERS], ids=str)
def test_subjects_answer_as_the_plain_way_does(workload: Workload, name: str) -> None:
    """Each subject finds and counts what a walk over all pods finds, for every question of every workload."""
    made = workload.pods(SIZE)
    subject = subject_called(name, made)
    check_answers(subject, made)
    subject.close()


@pytest.mark.parametrize("name", SUBJECTS)
def test_subjects_answer_after_writes(name: str) -> None:
    """The same after puts that change nothing, a label or all, of new pods, deletions, and another list."""
    made = ANCHORS[2].pods(SIZE)
    subject = subject_called(name, made)
    for number, pod in enumerate(made[:200]):
        changed = copy.deepcopy(pod)
        if number % 2:
            changed["metadata"]["labels"]["label-0"] = made[SIZE // 2]["metadata"]["labels"]["label-0"]
        if number % 5 == 0:
            changed["spec"]["nodeName"] = made[SIZE // 2]["spec"]["nodeName"]
            del changed["metadata"]["ownerReferences"]
        made[number] = changed
        subject.put(changed)
    for pod in made[200:250]:
        subject.delete(key_of(pod))
        assert subject.get(key_of(pod)) is None
    del made[200:250]
    new = copy.deepcopy(made[100])
    new["metadata"] |= {"name": "new", "uid": "new"}
    subject.put(new)
    check_answers(subject, [*made, new])
    subject.replace(made[::2])
    check_answers(subject, made[::2])
    subject.close()


def test_questions_have_answers_of_all_sizes() -> None:
    """At their size the anchors' answers are small (1 to 30), middle (150) and large (15,000)."""
    made = ANCHORS[1].pods(10_000)
    sizes = {name: sum(map(question.matches, made)) for name, question in questions(made).items()}
    assert 1 <= sizes["field"] <= 10
    assert 1 <= sizes["1 label"] <= 30  # 150 of 150,000
    broad = ANCHORS[0].pods(10_000)
    asked = questions(broad)
    assert 900 <= sum(map(asked["1 label"].matches, broad)) <= 1_100  # 15,000 of 150,000
    assert {"1 label", "2 labels", "3 labels", "in", "notin", "exists", "owner", "namespace"} <= set(asked)
