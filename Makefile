# The two main commands are `make demo` and `make test`. Each first installs its requirements in .venv.
PYTHON ?= python3
BIN := .venv/bin
PACKAGE := .venv/.package
TOOLS := .venv/.tools
DOCS := .venv/.docs
CORE := archive archive_kinds block crew cvt cvt_lloyd grid maze_simulation nearest search twin untrusted variation voronoi
CRASHES := dask_cluster farm fuzz_files kills resume soak untrusted worker_runs

.PHONY: demo test test-slow test-crashes test-bounds test-lowest test-peers lint format docs bench reproduction clean dist

demo: $(PACKAGE)
	$(BIN)/python examples/demo.py

# Two processes, whole files each: tests of one file share what they compile.
test: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(TOOLS)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dart]'
	$(BIN)/python -m pytest -m slow

# The slow tests of kills, lost workers, damaged files and faulty user code.
test-crashes: $(TOOLS)
	TESSELITE_SOAK_SECONDS=60 $(BIN)/python -m pytest -m slow -n 2 --dist worksteal $(ARGUMENTS) $(CRASHES:%=tests/test_%.py)

# The core, with kernels that check the bounds of every array; they have their own cache.
test-bounds: $(TOOLS)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(CORE:%=tests/test_%.py)

# The quick tests with the lowest versions that pyproject.toml allows. Old releases with newer dependencies
# cause deprecation warnings, which are not errors here. TESTS selects tests: make test-lowest TESTS=tests/test_grid.py
test-lowest:
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e '.[dev]'
	.venv-lowest/bin/python -m pytest -n 2 --dist loadfile -W ignore::DeprecationWarning $(TESTS)

# Against the peers themselves: their files and archives, and the programs side by side in docs/tutorials/coming-from.md.
test-peers: .venv-bench/.installed
	.venv-bench/bin/python -m pytest -n 2 -k "coming-from or interop" \
	  tests/test_documentation.py tests/test_interop_formats.py tests/test_interop_pyribs.py

# Tests do not run the benchmarks: check that what they call exists and takes these arguments.
CALLS_ONLY := --ignore-missing-imports $(addprefix --disable-error-code=,arg-type assignment misc no-untyped-call no-untyped-def \
  type-arg union-attr untyped-decorator var-annotated)

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy $(CALLS_ONLY) benchmarks

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, build/site/index.html: executes the tutorials; every warning, broken link or missing name is an error.
docs: $(DOCS)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -c docs -d build/doctrees . build/site
	$(BIN)/python tools/check_site.py build/site
	@echo "the site: build/site/index.html"

# Wheel and source distribution in dist/, checked; the wheel is tested in an empty environment.
dist:
	rm -rf dist .venv-dist .venv-smoke
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check build twine
	.venv-dist/bin/python -m build
	.venv-dist/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv .venv-smoke
	.venv-smoke/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd dist && env -u PYTHONPATH ../.venv-smoke/bin/tesselite run sphere --grid 10 --evaluations 2000 --seed 1 -o ../.venv-smoke/run
	@echo "ready: dist/"

# All reports in results/ and the pages based on them, from the stored trials.
reproduction: $(PACKAGE)
	$(BIN)/python tools/reproduction.py

# The other libraries have their own environment, so that their requirements do not affect ours.
bench: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/search_loop.py
	.venv-bench/bin/python benchmarks/cvt_construction.py
	.venv-bench/bin/python benchmarks/lookup.py
	.venv-bench/bin/python benchmarks/growing.py
	.venv-bench/bin/python benchmarks/emitters.py speed
	.venv-bench/bin/python benchmarks/maze_speed.py
	.venv-bench/bin/python benchmarks/hexapod_speed.py
	.venv-bench/bin/python benchmarks/workers.py
	.venv-bench/bin/python benchmarks/scaling_model.py

$(PACKAGE): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[report]'
	touch $@

$(TOOLS): $(PACKAGE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(DOCS): $(PACKAGE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

.venv-bench/.installed: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt -e .
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-dist .venv-lowest .venv-smoke dist build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
