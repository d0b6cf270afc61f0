"""Where evaluations are done and in which order: in process, in batches on workers, asynchronous, islands."""
