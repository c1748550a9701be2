# Builds, runs and tests subproxy on Debian and Ubuntu with Swift 6.2 or later. 'make help' lists the targets.

SWIFT ?= swift
MAP ?= config/substitutions.yaml
# More options for 'make run', as in: make run ARGS="--offline --listen 127.0.0.1:3128"
ARGS ?=

# How long 'make fuzz' runs each target, and which; how long 'make soak' runs: seconds. How often 'make test-heavy'
# kills the program.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= request response chunked target fields range caching map blocks frames connection json csv \
	script template query har mhtml webarchive session recording warc zip
SOAK_SECONDS ?= 600
KILLS ?= 200

# What building and running need, and what the tests need beside it.
PACKAGES = libcurl4-openssl-dev libyaml-dev libsqlite3-dev libcrypt-dev zlib1g-dev libbrotli-dev libzstd-dev pkg-config \
	ca-certificates
# Of systemd the tests take systemd-analyze; it does not have to run.
TEST_PACKAGES = curl sqlite3 python3 python3-venv python3-requests python3-prometheus-client strace faketime iproute2 git \
	openssl libnss3-tools default-jdk-headless zsh fish systemd libplist-utils xvfb $(CHROMIUM_PACKAGE) $(FIREFOX_PACKAGE)
# Ubuntu has Chromium and Firefox as snaps alone: with 'make test CHROMIUM_PACKAGE= FIREFOX_PACKAGE=' the tests with a
# browser are skipped, unless CHROMIUM and FIREFOX name one.
CHROMIUM_PACKAGE ?= chromium
FIREFOX_PACKAGE ?= firefox-esr
# What only PyPI has: other programs that read archives, in a folder of their own.
TEST_TOOLS = .build/test-tools
TEST_REQUIREMENTS = Tests/EndToEndTests/Scripts/requirements.txt
DEB_PACKAGES = build-essential debhelper dpkg-dev
DEB_TEST_PACKAGES = debootstrap lintian curl python3 openssl

# The runtime of Swift is linked statically, so that the program runs where no Swift is, and its calls are cheaper.
# Checks of exclusive access at run time, which tests make in debug builds, cost packages and program a seventh of a
# mapped hit.
#
# Nothing looks symbols up in the program: without its 29,000 exported ones, which Swift's linker script asks for, the
# start is quicker, and what nobody calls is left out. Packed relocations spare the start the reading of 2 MB; they need
# a libc that knows them (2.36), here and where the program runs.
#
# Each function has a section of its own, and those that the start and the first answers need are put next to each other
# ('make order' finds them): the kernel maps 64 KiB around each page of the program that is touched, so that a program
# that waits takes 6 of 21 MiB less.
RELEASE_FLAGS = -c release --product subproxy --static-swift-stdlib --disable-local-rpath -Xlinker -z -Xlinker now \
	-Xswiftc -enforce-exclusivity=unchecked -Xlinker --no-export-dynamic $(PACKED_RELOCATIONS) $(FUNCTION_ORDER)
FUNCTION_ORDER = -Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --no-warn-symbol-ordering \
	-Xlinker --symbol-ordering-file=$(CURDIR)/config/functions.txt
PACKED_RELOCATIONS = $(shell getconf GNU_LIBC_VERSION 2>/dev/null | awk '$$1 == "glibc" { split($$2, v, "."); \
	if (v[1] > 2 || v[2] >= 36) print "-Xlinker -z -Xlinker pack-relative-relocs" }')
RELEASE = .build/release/subproxy

# Where 'make install' puts what it installs; each below DESTDIR.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
BIN = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd
CONFIG = $(DESTDIR)$(SYSCONFDIR)/subproxy
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
STRIP ?= --strip

# The one place of the version is the program's source.
VERSION = $(shell sed -n 's/^let programVersion = "\(.*\)"$$/\1/p' Sources/subproxy/*.swift)
DEB = .build/subproxy_$(VERSION)_$$(dpkg --print-architecture).deb

.DEFAULT_GOAL := help
.PHONY: help run build release order install uninstall deb deb-test deb-service test test-heavy bench fuzz fuzz-corpus soak \
	lint format setup setup-test setup-deb clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

run: build ## Build (debug: the quickest to build) and serve config/substitutions.yaml on http://127.0.0.1:8888
	@exec "$$($(SWIFT) build --show-bin-path)/subproxy" --map $(MAP) $(ARGS)

build: setup ## Build for development
	$(SWIFT) build --product subproxy

release: setup ## Build for use; the program is .build/release/subproxy
	$(SWIFT) build $(RELEASE_FLAGS)

# Names that a later program doesn't have are passed over, so this is for when much has changed.
order: release ## Find anew which functions of the program the start needs (config/functions.txt); installs valgrind
	$(call install,valgrind binutils python3)
	objcopy -g $(RELEASE) .build/order
	python3 Tests/Benchmarks/order.py .build/order config/functions.txt
	rm .build/order $(RELEASE)
	$(MAKE) release

# Builds nothing that is there already, so that 'sudo make install' needs no Swift behind 'make release'. A map that is
# there is left alone.
install: $(RELEASE) ## Install below PREFIX (/usr/local): program, manual, completions, units; a map below /etc
	install -d $(BIN) $(CONFIG)
	install $(STRIP) $(RELEASE) $(BIN)/subproxy
	for page in $(notdir $(wildcard docs/man/*.[1-8])); do $(call install_page,$$page); done
	install -d $(SHARE)/bash-completion/completions $(SHARE)/fish/vendor_completions.d $(DESTDIR)$(ZSH_COMPLETIONS)
	$(RELEASE) --generate-completion-script bash | sed '1{/^#!/d}' >$(SHARE)/bash-completion/completions/subproxy
	$(RELEASE) --generate-completion-script fish >$(SHARE)/fish/vendor_completions.d/subproxy.fish
	$(RELEASE) --generate-completion-script zsh >$(DESTDIR)$(ZSH_COMPLETIONS)/_subproxy
	install -d $(SHARE)/subproxy
	cp -R --no-preserve=mode,ownership config/bundle config/shop $(SHARE)/subproxy
	$(call installed_map) >$(SHARE)/subproxy/substitutions.yaml
	[ -e $(CONFIG)/substitutions.yaml ] || install -m 644 $(SHARE)/subproxy/substitutions.yaml $(CONFIG)
	for unit in $(notdir $(wildcard systemd/*.service systemd/*.socket)); do $(call install_unit,$$unit,system/$$unit); done
	for unit in $(notdir $(wildcard systemd/user/*)); do $(call install_unit,user/$$unit,user/$$unit); done

uninstall: ## Undo 'make install'; a map that was edited stays
	rm -f $(BIN)/subproxy $(addprefix $(SHARE)/man/man1/,$(notdir $(wildcard docs/man/*.1)))
	rm -f $(addprefix $(SHARE)/man/man5/,$(notdir $(wildcard docs/man/*.5)))
	rm -f $(SHARE)/bash-completion/completions/subproxy $(SHARE)/fish/vendor_completions.d/subproxy.fish
	rm -f $(DESTDIR)$(ZSH_COMPLETIONS)/_subproxy
	rm -f $(addprefix $(UNITS)/system/,$(notdir $(wildcard systemd/*.service systemd/*.socket)))
	rm -f $(addprefix $(UNITS)/user/,$(notdir $(wildcard systemd/user/*)))
	if cmp -s $(SHARE)/subproxy/substitutions.yaml $(CONFIG)/substitutions.yaml; then rm $(CONFIG)/substitutions.yaml; fi
	rm -rf $(SHARE)/subproxy
	[ ! -d $(CONFIG) ] || rmdir --ignore-fail-on-non-empty $(CONFIG)

$(RELEASE):
	$(MAKE) release

deb: setup-deb release ## Build the Debian package .build/subproxy_VERSION_ARCHITECTURE.deb
	@test "$$(dpkg-parsechangelog -l config/debian/changelog -S Version)" = "$(VERSION)" || \
	    { echo "config/debian/changelog does not begin with version $(VERSION) of the program" >&2; exit 1; }
	rm -rf .build/deb
	mkdir -p .build/deb/subproxy
	cp -R config/debian .build/deb/subproxy
	cd .build/deb/subproxy && TOP=$(CURDIR) dpkg-buildpackage --build=binary --no-sign
	mv .build/deb/*.deb .build
	@echo $(DEB)

# Apart from 'make test': it needs root, and packages from a mirror.
deb-test: deb ## Install, run, upgrade and purge the package in a bare Debian of its own (root)
	$(call install,$(DEB_TEST_PACKAGES))
	Tests/Packaging/debian-package.sh $(DEB) .build/deb-test

deb-service: deb ## Upgrade, reload, kill and break the service under a systemd of its own, as clients go on asking (root)
	$(call install,$(DEB_TEST_PACKAGES))
	Tests/Packaging/service-upgrade.sh $(DEB) .build/deb-test

# Tests that measure memory, descriptors or what a process does run by themselves, one after the other. None depends on
# how quick the machine is, or how busy, but for those that only 'make test-heavy' runs.
test: setup-test ## Run all tests
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --disable-xctest --skip '^(CurlTests|ForwardProxyTests|EndToEndTests)\.'
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter '^(CurlTests|ForwardProxyTests)\.'
	$(SWIFT) test --skip-build --disable-xctest --filter '^EndToEndTests\.' --skip '^EndToEndTests\.EndToEnd/'
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter '^EndToEndTests\.EndToEnd/' \
	--skip '^EndToEndTests\.EndToEnd/Heavy'

# What those of HEAVY_TESTS do more often, with more clients or with more bytes than in 'make test', and how long it
# takes.
HEAVY_TESTS = (Heavy/|LateBytes/|Memory/manyRequests|CacheMemory/|SlowClients/|SlowLinks/|State/randomKills|RecordFaults/randomKills)
test-heavy: setup-test release ## Run the heavier forms of tests against a release build: some five minutes
	$(SWIFT) build --build-tests
	SUBPROXY_HEAVY=1 SUBPROXY_FULL_SCAN=1 SUBPROXY_KILLS=$(KILLS) SUBPROXY_BINARY="$(CURDIR)/$(RELEASE)" \
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter '^EndToEndTests\.EndToEnd/$(HEAVY_TESTS)'

fuzz: setup ## Fuzz each target for FUZZ_SECONDS (60): make fuzz FUZZ_SECONDS=600 FUZZ_TARGETS="map frames"
	SUBPROXY_FUZZING=1 $(SWIFT) build -c release --product Fuzzer --scratch-path .build-fuzz
	@Tests/Fuzzing/fuzz.sh .build-fuzz/release/Fuzzer $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-corpus: ## Keep what fuzzing has found, as few and small inputs, for the tests to replay
	@Tests/Fuzzing/keep-corpus.sh .build-fuzz/release/Fuzzer $(FUZZ_TARGETS)

soak: setup-test release ## Run a mix of everything against a release build for SOAK_SECONDS (600), and see that nothing grows
	$(SWIFT) build --build-tests
	SUBPROXY_SOAK_SECONDS=$(SOAK_SECONDS) SUBPROXY_BINARY="$(CURDIR)/$(RELEASE)" \
	$(SWIFT) test --skip-build --disable-xctest --no-parallel --filter 'Soak'

bench: setup ## Measure beside nginx, Squid and others (installs them); ARGS=--help lists options
	$(call install,python3 python3-venv)
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
	@cmp -s $(TEST_REQUIREMENTS) $(TEST_TOOLS)/requirements.txt || { \
	    echo "installing: what $(TEST_REQUIREMENTS) names, into $(TEST_TOOLS)"; \
	    rm -rf $(TEST_TOOLS) && python3 -m venv $(TEST_TOOLS) && \
	    $(TEST_TOOLS)/bin/pip install --quiet --disable-pip-version-check -r $(TEST_REQUIREMENTS) && \
	    cp $(TEST_REQUIREMENTS) $(TEST_TOOLS)/requirements.txt; }

setup-deb:
	$(call install,$(PACKAGES) $(DEB_PACKAGES))

clean: ## Remove what was built
	$(SWIFT) package clean

# Units and pages name places as a package has them, and are written for those that are installed to.
installed_map = sed 's|^root: bundle$$|root: $(PREFIX)/share/subproxy/bundle|; \
s|^include: \[shop/|include: [$(PREFIX)/share/subproxy/shop/|' config/substitutions.yaml
install_unit = $(call install_text,systemd/$(1),$(UNITS)/$(2))
install_page = $(call install_text,docs/man/$(1),$(SHARE)/man/man$${page##*.}/$(1))
define install_text
install -d $$(dirname $(2)) && \
sed 's|/usr/bin/subproxy|$(PREFIX)/bin/subproxy|g; s|/usr/share/subproxy|$(PREFIX)/share/subproxy|g; \
s|/etc/subproxy|$(SYSCONFDIR)/subproxy|g' $(1) >$(2) && chmod 644 $(2) || exit 1
endef

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
