"""How far a farm of workers scales, and when islands are better: measured parts and a simulation.

    python benchmarks/scaling_model.py [--write]

The search itself is one process. Every message, byte and insertion takes some of its time, which limits a farm. The
parts are measured here; `simulate` models a farm of any size with them. `--write` keeps the tables in docs/scaling.md.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measurement import table
from tesselite.archive.archive import Archive
from tesselite.execution.asynchronous import SteadyState
from tesselite.execution.workers import open_workers
from tesselite.execution.workers.dask_cluster import DaskWorkers
from tesselite.execution.workers.farm import Item, Result, evaluation_of
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.task import Task
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.voronoi import VoronoiTessellation
from workers import echo, kinds, search_on, sleeping


@dataclass(frozen=True)
class Parts:
    """Seconds of the main process: for a message and its answer, for a byte of it, for an evaluation's ask and tell."""

    message: float
    byte: float
    evaluation: float


def time_messages(wanted: object) -> tuple[float, float]:
    """Seconds of this process's own processor time for a message and its answer, and for a byte of it."""
    with open_workers(wanted) as workers:
        workers.start(Payload.of(None))
        number, many = 0, isinstance(wanted, str)

        def send(n: int, data: bytes) -> float:
            """With Dask there are always many messages under way, as with many workers: they are handled together."""
            nonlocal number
            sent = done = 0
            began = time.process_time()
            while done < n:
                while sent < n and (workers.room() > 0 or (many and sent - done < 100)):
                    workers.submit(Task(number, echo, (data,)))
                    number += 1
                    sent += 1
                done += len(workers.wait(1.0))
            return (time.process_time() - began) / n

        send(50, b"")
        small = min(send(300, b"") for _ in range(3))
        large = min(send(20, bytes(4_000_000)) for _ in range(3))
        return small, max(large - small, 0.0) / 4e6


def time_steady() -> float:
    """Seconds of ask and tell for one evaluation of an asynchronous search, and of the farm's own bookkeeping."""
    problem = sleeping(0.0)
    state, n = SteadyState(search_on(problem)), 5000
    began = time.process_time()
    for _ in range(n):
        number, row = state.ask()
        Item(number, row, None)
        state.tell(Result(number, float(row[2]), row[:2]))
    return (time.process_time() - began) / n


def time_batches(batch_size: int = 200) -> float:
    """Seconds of ask and tell, and of the farm's own bookkeeping, for one evaluation of a batch."""
    problem = sleeping(0.0)
    search, n = search_on(problem), 50

    began = time.process_time()
    for _ in range(n):
        rows = search.ask(batch_size)
        results = [Result(i, float(row[2]), row[:2]) for i, row in enumerate(rows)]
        search.tell_evaluation(evaluation_of(results, problem.records))
    return (time.process_time() - began) / n / batch_size


def time_exchange(n_elites: int, width: int, d: int) -> float:
    """Seconds of the main process for a returning island: its elites unpickled, merged, and sent out again."""
    rng = np.random.default_rng(0)
    space = FeatureSpace({f"f{i}": (0.0, 1.0) for i in range(d)})
    tessellation = VoronoiTessellation(space, space.sample(n_elites, rng))
    archives = [Archive(tessellation, width) for _ in range(2)]
    for archive in archives:
        features = tessellation.centroids + 0.0
        archive.add(rng.random((n_elites, width)), rng.random(n_elites), features)
    began = time.process_time()
    data = pickle.dumps(archives[0].in_order_of_filling(), 5)
    other = archives[1].empty_copy()
    other.restore(pickle.loads(data))
    archives[0].merge(archives[1])
    return time.process_time() - began


def simulate(parts: Parts, n: int, cost: float, row_bytes: int, *, chunk: int, spread: float, tasks: int = 0) -> float:
    """Share of the time that n workers spend in evaluations of `cost` seconds, one process handling all messages.

    Evaluation times are log-normal with this spread (of the logarithm). Events are simulated in order: a chunk
    ends, waits until the main process has time, is answered by the next chunk.
    """
    rng = np.random.default_rng(0)
    tasks = tasks or max(20 * n, 2000)
    handling = parts.message + chunk * (parts.byte * row_bytes + parts.evaluation)
    ends = [(cost * chunk * (i + 1) / n, i) for i in range(n)]  # they start evenly spread
    heapq.heapify(ends)
    free, worked, last = 0.0, 0.0, 0.0
    times = cost * np.exp(rng.normal(-spread * spread / 2, spread, (tasks, min(chunk, 16)))).mean(axis=1) * chunk
    for i in range(tasks):
        end, worker = heapq.heappop(ends)
        free = max(free, end) + handling
        worked += times[i]
        last = free + times[i]
        heapq.heappush(ends, (last, worker))
    return worked / (n * max(end for end, _ in ends))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    steady, batch = time_steady(), time_batches()
    found = {name: time_messages(wanted) for name, wanted in kinds(2).items() if name in ("processes", "Dask")}
    lines = [
        ["ask and tell, asynchronous, per evaluation", f"{1e6 * steady:.0f} us"],
        ["ask and tell, batches of 200, per evaluation", f"{1e6 * batch:.1f} us"],
    ]
    for name, (message, byte) in found.items():
        lines += [
            [f"a message and its answer, {name}", f"{1e6 * message:.0f} us"],
            [f"a byte, {name}", f"{1e9 * byte:.2f} ns"],
        ]
    exchange = {k: min(time_exchange(k, 36, 6) for _ in range(3)) for k in (10_000, 100_000)}
    lines += [
        [f"an island comes and goes, {k:,} elites of 36 values", f"{1e3 * seconds:.0f} ms"]
        for k, seconds in exchange.items()
    ]
    text = [table(["part, of the main process's time", "measured"], lines), ""]
    message, byte = found["Dask"]
    parts = Parts(message, byte, steady)
    sizes = (10, 100, 1000, 4000)
    lines = []
    for cost in (0.001, 0.01, 0.1, 1.0, 10.0):
        cells = [f"{100 * simulate(parts, n, cost, 400, chunk=1, spread=0.5):.0f} %" for n in sizes]
        lines.append([f"{cost:g} s", *cells, f"{cost / (message + steady + 400 * byte):,.0f}"])
    text += [
        "A farm on Dask, asynchronous, evaluations of varying length one by one: share of time in evaluations",
        "",
        table(["evaluation", *(f"{n:,} workers" for n in sizes), "workers at which it is full"], lines),
        "",
    ]
    parts = Parts(message, byte, batch)
    lines = []
    for cost in (0.0001, 0.001, 0.01, 0.1):
        cells = []
        for n in sizes:
            chunk = int(max(1, max(0.25, 2 * n * DaskWorkers.message_seconds) / cost))
            share = simulate(parts, n, cost, 400, chunk=chunk, spread=0.5)
            cells.append(f"{100 * share:.0f} % ({2 * n * chunk:,})")
        lines.append([f"{cost:g} s", *cells])
    text += [
        "A farm on Dask, in batches, chunks as long as the number of workers demands: the same, and in brackets the",
        "batch that it takes to give two such chunks to every worker",
        "",
        table(["evaluation", *(f"{n:,} workers" for n in sizes)], lines),
        "",
    ]
    lines = []
    for seconds in (1.0, 10.0, 60.0):
        lines.append([f"{seconds:g} s", *(f"{seconds / e:,.0f}" for e in exchange.values())])
    text += [
        "Islands: how many the main process can serve if each comes back after so long",
        "",
        table(["an island's stretch", *(f"{k:,} elites" for k in exchange)], lines),
    ]
    print("\n".join(text))
    if args.write:
        page = Path(__file__).parents[1] / "docs" / "scaling.md"
        begin, end = "<!-- model: begin -->\n", "<!-- model: end -->"
        before, _, rest = page.read_text(encoding="utf-8").partition(begin)
        after = rest.partition(end)[2]
        page.write_text(before + begin + "\n" + "\n".join(text) + "\n\n" + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
