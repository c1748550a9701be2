# Builds, runs and tests subproxy on Debian and Ubuntu with Swift 6.2 or later. 'make help' lists the targets.

SWIFT ?= swift
MAP ?= config/substitutions.yaml
# More options for 'make run', as in: make run ARGS="--offline --listen 127.0.0.1:3128"
ARGS ?=

# How long 'make fuzz' runs each target, and which; how long 'make soak' runs: seconds.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= request response chunked target fields range caching map blocks frames connection
SOAK_SECONDS ?= 600

# What building and running need, and what the tests need beside it. A test with Chromium runs where there is one.
PACKAGES = libcurl4-openssl-dev libyaml-dev libcrypt-dev pkg-config ca-certificates
TEST_PACKAGES = curl python3 python3-requests strace faketime iproute2 git openssl libnss3-tools

.DEFAULT_GOAL := help
.PHONY: help run build release test bench fuzz fuzz-corpus soak lint format setup setup-test clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

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

fuzz: setup ## Fuzz each target for FUZZ_SECONDS (60): make fuzz FUZZ_SECONDS=600 FUZZ_TARGETS="map frames"
	SUBPROXY_FUZZING=1 $(SWIFT) build -c release --product Fuzzer --scratch-path .build-fuzz
	@Tests/Fuzzing/fuzz.sh .build-fuzz/release/Fuzzer $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-corpus: ## Keep what fuzzing has found, as few and small inputs, for the tests to replay
	@Tests/Fuzzing/keep-corpus.sh .build-fuzz/release/Fuzzer $(FUZZ_TARGETS)

soak: setup-test ## Run a mix of everything against a release build for SOAK_SECONDS (600), and see that nothing grows
	$(SWIFT) build -c release --product subproxy
	$(SWIFT) build --build-tests
	SUBPROXY_SOAK_SECONDS=$(SOAK_SECONDS) SUBPROXY_BINARY="$$($(SWIFT) build -c release --show-bin-path)/subproxy" \
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter 'Soak'

bench: setup ## Measure beside nginx, Squid and others (installs them); ARGS=--help lists options
	python3 Tests/Benchmarks/bench.py $(ARGS)

lint: ## Check the style of all Swift sources
	$(SWIFT) format lint --strict --recursive Sources Tests Package.swift
	@# What ends the process has no place where bytes from outside may lead to.
	@! grep -rnE '(fatalError|preconditionFailure|unsafelyUnwrapped)|as! ' Sources --include='*.swift'

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
