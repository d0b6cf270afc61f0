"""The field's public benchmarks: which algorithms on which problems, and the published figures beside ours."""
