"""What a person looks at: figures of runs and archives. Metrics are computed in `tesselite.assessment`."""
