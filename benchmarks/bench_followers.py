"""What followers cost a writer, on 150,000 pods with ten label indexes of 1,000 values; and what a delta costs them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.bench_put import parsed_anew
from benchmarks.conftest import Shape, size_of, subject_of
from kindex import Store

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.conftest import Subject
    from kindex import Registration

ROUNDS = 10
HANDED = 100_000
ASKED, CHANGED = "label-0", "label-1"
"""Followers' selectors ask for one label, and puts change another one."""

PUT = f"{ASKED}=value-0"
"""What all pods are that are put, about 150."""


@pytest.fixture(scope="module")
def subject(request: pytest.FixtureRequest) -> Subject:
    """Give one shape."""
    return subject_of(Shape(1, 1_000), size_of(request.config))


def selectors_of(kind: str, followers: int) -> list[str | None]:
    """Give a selector for each follower: of what is put, of other values, or none."""
    match kind:
        case "unfiltered":
            return [None] * followers
        case "concerned":
            return [PUT] * followers
        case _:
            return [f"{ASKED}=value-{1 + number % 999}" for number in range(followers)]


KINDS = ("unfiltered", "others", "concerned")
FOLLOWED = [("unfiltered", 0), *((kind, count) for kind in KINDS for count in (1, 10, 1_000))]


@pytest.mark.parametrize(("kind", "followers"), FOLLOWED)
def bench_put_followed(benchmark: BenchmarkFixture, subject: Subject, kind: str, followers: int) -> None:
    """Put 150 objects a round beside followers who look between rounds: only the first put of each wakes them."""
    put_followed(benchmark, subject, kind, followers, at_once=200)


@pytest.mark.parametrize(("kind", "followers"), FOLLOWED)
def bench_put_that_wakes(benchmark: BenchmarkFixture, subject: Subject, kind: str, followers: int) -> None:
    """Put one object a round: every put wakes all whom it concerns, as where they wait for it."""
    put_followed(benchmark, subject, kind, followers, at_once=1)


def put_followed(benchmark: BenchmarkFixture, subject: Subject, kind: str, followers: int, *, at_once: int) -> None:
    """Measure puts; every round changes the same label of the same pods."""
    store = subject.store
    some = store.select(label_selector=PUT, limit=at_once)
    follow = [store.follow(label_selector=each, replay=False) for each in selectors_of(kind, followers)]
    number = 0

    def ready() -> tuple[tuple[list[dict[str, Any]]], dict[str, Any]]:
        nonlocal number
        number += 1
        for follower in follow:
            follower.take()
        labels = [{**pod["metadata"]["labels"], CHANGED: f"value-{number % 1_000}"} for pod in some]
        return ([parsed_anew(pod, labels=its) for pod, its in zip(some, labels, strict=True)],), {}

    def put_each(pods: list[dict[str, Any]]) -> None:
        for pod in pods:
            store.put(pod)

    benchmark.extra_info["writes"] = len(some)
    benchmark.pedantic(put_each, setup=ready, rounds=ROUNDS if at_once > 1 else 10 * ROUNDS)
    assert {follower.lag for follower in follow} <= {0 if kind == "others" else len(some)}
    for follower in follow:
        follower.close()
    store.replace(subject.pods)


# What they are given


@pytest.fixture(scope="module")
def pods(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Make what is handed over."""
    return subject_of(Shape(1, 1_000), size_of(request.config)).pods[:HANDED]


def bench_replay_to_a_follower(benchmark: BenchmarkFixture, pods: list[dict[str, Any]]) -> None:
    """Follow a store of 100,000, and take an Added for each."""
    store: Store[dict[str, Any]] = Store()
    store.replace(pods)

    def replay() -> None:
        with store.follow() as follower:
            assert len(follower.take()) == len(pods)

    benchmark.pedantic(replay, rounds=3)


def bench_changes_to_a_follower(benchmark: BenchmarkFixture, pods: list[dict[str, Any]]) -> None:
    """Take 100,000 that wait, an Updated for each put."""
    store: Store[dict[str, Any]] = Store()
    store.replace(pods)
    follower = store.follow(replay=False)

    def ready() -> None:
        for pod in pods:
            store.put(pod)

    def take() -> None:
        assert len(follower.take()) == len(pods)

    benchmark.pedantic(take, setup=ready, rounds=3)
    follower.close()


def bench_replay_to_a_handler(benchmark: BenchmarkFixture, pods: list[dict[str, Any]]) -> None:
    """Register a handler at a store of 100,000, and wait until it was called with each."""
    store: Store[dict[str, Any]] = Store()
    store.replace(pods)

    def replay() -> Registration[dict[str, Any]]:
        registration = store.add_event_handler(on_add=lambda _delta: None)
        assert registration.wait_synced(60)
        return registration

    registration = benchmark.pedantic(replay, rounds=3)
    assert registration.handled == len(pods)


@pytest.mark.parametrize("handlers", [0, 1])
def bench_puts_to_a_handler(benchmark: BenchmarkFixture, pods: list[dict[str, Any]], handlers: int) -> None:
    """Put 100,000 objects, and wait until a handler, which works meanwhile, was called with each; and without one."""
    registrations: list[Registration[dict[str, Any]]] = []

    def ready() -> tuple[tuple[Store[dict[str, Any]], threading.Event], dict[str, Any]]:
        store: Store[dict[str, Any]] = Store()
        done, left = threading.Event(), iter(range(len(pods) - 1, -1, -1))

        def handle(_delta: object) -> None:
            if next(left) == 0:
                done.set()

        if handlers:
            registrations.append(store.add_event_handler(on_add=handle))
        else:
            done.set()
        return (store, done), {}

    def put_each(store: Store[dict[str, Any]], done: threading.Event) -> None:
        for pod in pods:
            store.put(pod)
        assert done.wait(60)

    benchmark.pedantic(put_each, setup=ready, rounds=3)
    for registration in registrations:
        registration.remove()
