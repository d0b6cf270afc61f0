"""What the documentation uses of dask-jobqueue: two workers on this machine, however many jobs are wanted."""

from __future__ import annotations

from distributed import LocalCluster


class SLURMCluster(LocalCluster):
    def __init__(self, cores: int, processes: int, memory: str, walltime: str) -> None:
        assert processes == cores
        super().__init__(n_workers=0, threads_per_worker=1, dashboard_address=None)

    def scale(self, jobs: int) -> None:
        super().scale(min(jobs, 2))
