# Builds, runs and tests subproxy on Debian and Ubuntu with Swift 6.2 or later. 'make help' lists the targets.

SWIFT ?= swift
MAP ?= config/substitutions.yaml
# More options for 'make run', as in: make run ARGS="--offline --listen 127.0.0.1:3128"
ARGS ?=

# What building and running need, and what the tests need beside it. A test with Chromium runs where there is one.
PACKAGES = libcurl4-openssl-dev libyaml-dev libcrypt-dev pkg-config ca-certificates
TEST_PACKAGES = curl python3 python3-requests strace faketime iproute2 git openssl libnss3-tools

.DEFAULT_GOAL := help
.PHONY: help run build release test bench lint format setup setup-test clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

run: build ## Build (debug: the quickest to build) and serve config/substitutions.yaml on http://127.0.0.1:8888
	@exec "$$($(SWIFT) build --show-bin-path)/subproxy" --map $(MAP) $(ARGS)

build: setup ## Build for development
	$(SWIFT) build --product subproxy

release: setup ## Build for use; the program is .build/release/subproxy
	$(SWIFT) build -c release --product subproxy

# What works with sockets and bounds in time runs by itself, one test after the other: beside tests that keep all cores
# busy, a bound says nothing.
test: setup-test ## Run all tests
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --disable-xctest --skip '^(CurlTests|ForwardProxyTests|EndToEndTests)\.'
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter '^(CurlTests|ForwardProxyTests)\.'
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter '^EndToEndTests\.'

bench: setup ## Measure beside nginx, Squid and others (installs them); ARGS=--help lists options
	python3 Tests/Benchmarks/bench.py $(ARGS)

lint: ## Check the style of all Swift sources
	$(SWIFT) format lint --strict --recursive Sources Tests Package.swift

format: ## Bring all Swift sources into style
	$(SWIFT) format --in-place --recursive Sources Tests Package.swift

setup: ## Install the libraries that are missing (apt-get; with sudo unless you are root)
	$(call install,$(PACKAGES))

setup-test:
	$(call install,$(PACKAGES) $(TEST_PACKAGES))

clean: ## Remove what was built
	$(SWIFT) package clean

# Asks dpkg first, so that nothing is installed, and no password asked for, where nothing is missing.
define install
@missing=; for package in $(1); do \
	dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
done; \
if [ -z "$$missing" ]; then exit 0; fi; \
if ! command -v apt-get >/dev/null; then echo "please install:$$missing" >&2; exit 1; fi; \
if [ "$$(id -u)" = 0 ]; then as_root='env'; else as_root='sudo env'; fi; \
echo "installing:$$missing"; \
$$as_root apt-get update -qq && \
$$as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing
endef
