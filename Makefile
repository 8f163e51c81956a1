PYTHON ?= python3
BIN := .venv/bin
# Where bytecode is not written, every start of Python takes twice as long; it is kept out of the source tree.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
TOGETHER := --numprocesses auto --dist loadgroup --durations 12
.PHONY: env demo test test-all generated check clients newest bench scale soak fuzz serve audit kills docs image clean

env: .venv/ready   ## everything that tests, checks and documentation need
.venv/ready: .venv/product
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint tests/constraints.txt --editable '.[dev]'
	@touch $@

.venv/product: pyproject.toml tests/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint tests/constraints.txt --editable '.[web]'
	@touch $@

newest: env        ## the newest release of everything that pyproject.toml admits, written down in tests/constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable '.[dev]'
	@sed -i '/^[^#]/d' tests/constraints.txt && $(BIN)/pip freeze --exclude-editable >>tests/constraints.txt

demo: .venv/product ## the tour: a proxy over real data, an analyst and an administrator
	@$(BIN)/dpproxy demo

serve: .venv/product ## the demo's proxy, kept running, with its page
	@$(BIN)/dpproxy demo --serve --port 6432

test: env          ## the tests that guard privacy and say what works, in minutes
	$(BIN)/pytest -q $(TOGETHER) -m 'not clients and not whole and not statistical and not alone'

test-all: test     ## and all others: what takes long, what samples, more generated examples; last and by itself what measures time
	$(BIN)/pytest -q $(TOGETHER) --hypothesis-profile whole -m '(whole or statistical or hypothesis) and not clients and not alone'
	$(BIN)/pytest -q -m 'alone and not clients'

generated: env     ## what is tested with generated examples, 300 of each, others every time
	$(BIN)/pytest -q $(TOGETHER) --hypothesis-profile long -m 'hypothesis and not clients and not alone'

check: env         ## format, lint, types, import contracts, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python -m tests.code_lines | tail -n 1
	$(BIN)/pytest -q tests/test_docs.py tests/docs/test_reference.py tests/test_layout.py tests/test_proofs.py tests/test_taint.py

docs: env          ## the documentation as one site, in site/; a link that leads nowhere is an error
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -d build/doctrees . site

clients: .venv-clients/ready .venv-superset/ready .venv-pgadmin/ready env  ## clients that take long to install: Superset, pgAdmin, dbt, pgcli, Django, Sequelize and others
	$(BIN)/pytest -q -m clients

.venv-clients/ready:
	$(PYTHON) -m venv .venv-clients
	.venv-clients/bin/pip install --quiet --disable-pip-version-check 'dbt-core<1.12' 'dbt-postgres<1.12' 'pgcli>=4.1,<5' \
	  'django>=5.2,<5.3' 'dlt[duckdb,sql-database]>=1.31,<2'
	npm install --silent --no-fund --no-audit --prefix .venv-clients pg@8 pg-cursor@2 postgres@3 sequelize@6 kysely@0.28
	@touch $@

.venv-superset/ready: export SUPERSET_HOME = $(CURDIR)/.venv-superset/home
.venv-superset/ready: export SUPERSET_CONFIG_PATH = $(CURDIR)/tests/clients/superset_config.py
.venv-superset/ready: export FLASK_APP = superset.app
.venv-superset/ready:
	$(PYTHON) -m venv .venv-superset
	.venv-superset/bin/pip install --quiet --disable-pip-version-check 'apache-superset>=6.1,<6.2' 'flask-caching<2.4' \
	  rich cachetools psycopg2-binary gunicorn
	mkdir -p $(SUPERSET_HOME)
	.venv-superset/bin/superset db upgrade >$(SUPERSET_HOME)/log 2>&1
	.venv-superset/bin/superset fab create-admin --username admin --firstname A --lastname B --email a@example.com \
	  --password admin >>$(SUPERSET_HOME)/log 2>&1
	.venv-superset/bin/superset init >>$(SUPERSET_HOME)/log 2>&1
	@touch $@

.venv-pgadmin/ready:
	$(PYTHON) -m venv .venv-pgadmin
	.venv-pgadmin/bin/pip install --quiet --disable-pip-version-check 'pgadmin4>=9.18,<10'
	@touch $@

image:             ## the container image, where there is an engine: PYTHON_DIGEST=sha256:... of python:3.11-slim
	@test -n "$(PYTHON_DIGEST)" || { echo 'say what the image is made from: make image PYTHON_DIGEST=sha256:...'; exit 2; }
	docker build -f docker/Dockerfile --build-arg PYTHON_DIGEST=$(PYTHON_DIGEST) -t dpproxy .

WRITE = $(if $(PEERS),--write)
PEERS_PYTHON = $(if $(PEERS)$(wildcard .venv-peers/ready),--peers .venv-peers/bin/python)
bench: env $(if $(PEERS),.venv-peers/ready .venv-smartnoise/ready)  ## beside other products, DuckDB and PostgreSQL: PEERS=1 installs those products and fills docs/measured.md
	@failed=0; for part in "bench.rivals $(WRITE)" "bench.utility $(PEERS_PYTHON) $(WRITE)" "bench $(PEERS_PYTHON) $(WRITE)" \
	  "bench.rows $(WRITE)" "bench.throughput $(WRITE)" bench.ledger; do \
	  echo; echo "python -m tests.$$part"; $(BIN)/python -m tests.$$part || failed=1; done; exit $$failed

.venv-peers/ready:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check 'opendp[polars]==0.16.*' 'diffprivlib==0.6.*' 'scikit-learn<1.8'
	@touch $@

.venv-spark/ready: # servers for the tests of Spark as a data source: Spark needs Java 17, and Sail a client of 4.1
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/pip install --quiet --disable-pip-version-check 'pyspark==4.1.*' 'pysail==0.7.*' 'setuptools<81'
	@touch $@

.venv-smartnoise/ready:
	$(PYTHON) -m venv .venv-smartnoise
	.venv-smartnoise/bin/pip install --quiet --disable-pip-version-check 'smartnoise-sql==1.0.*'
	@touch $@

.venv-synthesizers/ready: # its declared dependencies include a deep learning framework that MST and AIM do not use
	$(PYTHON) -m venv .venv-synthesizers
	.venv-synthesizers/bin/pip install --quiet --disable-pip-version-check 'smartnoise-sql==1.0.*' 'mbi<2' disjoint-set Faker opendp
	.venv-synthesizers/bin/pip install --quiet --disable-pip-version-check --no-deps 'smartnoise-synth==1.0.8'
	@touch $@

scale: env         ## how the first statement, charged ones and memory grow with the rows: SOURCE=sqlite ROWS="1000000 4000000", PROXIES=1 for several proxies
	$(BIN)/python -m tests.bench.scale $(if $(PROXIES),--proxies,--source $(or $(SOURCE),duckdb) $(if $(ROWS),--rows $(ROWS)))

soak: env          ## an hour of mixed traffic from 64 connections, two restarts and a kill in it: MINUTES=60, RATE=100 statements a second, PROCESSES=2
	$(BIN)/python -m tests.bench.soak --minutes $(or $(MINUTES),60) --processes $(or $(PROCESSES),1) $(if $(RATE),--rate $(RATE))

fuzz: env          ## ten minutes of hostile bytes, then 10,000 connections in a row: MINUTES=10
	$(BIN)/python -m tests.bench.fuzz --minutes $(or $(MINUTES),10)

audit: env         ## sampled privacy tests
	$(BIN)/pytest -q -m statistical

kills: env         ## kill -9 a proxy under load 200 times: whatever was answered was charged
	DPPROXY_CRASH_ROUNDS=200 $(BIN)/pytest -q -s --timeout 7200 tests/crash/test_kill.py -k answered

clean:
	rm -rf .venv .venv-clients .venv-superset .venv-pgadmin .venv-peers .venv-smartnoise .venv-spark build dist site *.egg-info
