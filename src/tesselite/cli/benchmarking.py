"""The command `bench`: algorithms on the field's public benchmarks, beside the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tesselite.cli.assessing import carry_out_study, check_folder, tell_studies


def run_benchmarks(
    benchmarks: Sequence[str],
    out: Path,
    *,
    algorithms: Sequence[str],
    trials: int,
    evaluations: int | None,
    workers: int | str | None,
    keep_runs: bool,
    forecast_only: bool,
    report_only: bool,
    kind: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run the trials that are missing, then write the table, the curves and the report."""
    from tesselite.bench.bench_report import results, write_report
    from tesselite.bench.benchmarks import study_of
    from tesselite.paper.study_report import as_run

    check_folder(out)
    if trials < 1:
        raise ValueError(f"--trials: expected at least 1, got {trials}")
    if isinstance(workers, int) and workers < 1:
        raise ValueError(f"--workers: expected at least 1, got {workers}")
    if forecast_only and report_only:
        raise ValueError("--forecast: expected without --report; one says what is to come, the other what there is")
    study = study_of(benchmarks, algorithms, evaluations)
    told = carry_out_study(
        study,
        study,
        out,
        trials=trials,
        workers=workers,
        reuse=[],
        keep_runs=keep_runs,
        forecast_only=forecast_only,
        report_only=report_only,
        kind=kind,
        quiet=quiet,
        write=write_report,
    )
    if as_json and not forecast_only:
        told["results"] = results(as_run(study, out), out)
    tell_studies([told], as_json)
