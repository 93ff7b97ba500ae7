"""Compare opencode-memory with its peers: ``python -m benches.speed.run --n 10000``.

Builds every engine's store from the same data, lets them answer in alternating rounds on one core, prints tables of
ratios, and writes everything to ``benches/results/``.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .data import DataShape, prepare
from .measure import TRACED_INSERTS, YARDSTICK, Measurement, Plan
from .options import add_options
from .peers import ENGINES
from .report import markdown, plain

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches.speed.run", description=__doc__)
    add_options(parser, n=10_000)
    parser.add_argument("--engines", default=",".join(ENGINES), help="comma-separated (default %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="different queries (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (default %(default)s)")
    parser.add_argument("--starts", type=int, default=3, help="fresh starts of each engine (default %(default)s)")
    parser.add_argument("--inserts", type=int, default=40, help="inserts per round (default %(default)s)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="at most so long per operation, engine and round (default %(default)s)",
    )
    parser.add_argument("--filter-share", type=float, default=0.01, help="share of the rare project (default 0.01)")
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark. Return 1 if an engine failed."""
    options = _parser().parse_args(arguments)
    for name in ("n", "queries", "rounds", "starts", "inserts"):
        if getattr(options, name) < 1:
            print(f"--{name}: must be at least 1", file=sys.stderr)
            return 2
    engines = tuple(options.engines.split(","))
    unknown = set(engines) - set(ENGINES)
    if unknown:
        print(f"unknown engines: {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}", file=sys.stderr)
        return 2
    inserts = options.rounds * options.inserts + TRACED_INSERTS
    shape = DataShape(options.n, options.filter_share, options.queries, inserts)
    dataset = prepare(options.work, shape)
    plan = Plan((*engines, YARDSTICK), options.rounds, options.starts, options.seconds, options.reuse)
    run = Measurement(dataset, plan, lambda line: print(line, file=sys.stderr, flush=True)).run()
    run.save(options.results / f"speed-{shape.n}.json")
    print(markdown(run) if options.markdown else plain(run))
    return 1 if any(figures.failure for figures in run.engines.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
