"""The implementation of `bench`: algorithms on the field's public benchmarks, beside the published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tesselite.cli.assessing import check_folder
from tesselite.cli.reproducing import carry_out_study, tell_studies

if TYPE_CHECKING:
    from tesselite.cli.commands.studying import BenchOptions


def run_benchmarks(options: BenchOptions) -> None:
    """Run the trials that are missing, then write the table, the curves and the report."""
    from tesselite.bench.bench_report import results, write_report
    from tesselite.bench.benchmarks import study_of
    from tesselite.paper.study_report import as_run

    out, how = options.out, options.how
    check_folder(out)
    how.check(options.trials)
    study = study_of(options.benchmarks or [], options.algorithm or [], options.evaluations)
    told = carry_out_study(study, out, options.trials, how, write=write_report)
    if how.as_json and not how.forecast:
        told["results"] = results(as_run(study, out), out)
    tell_studies([told], how.as_json)
