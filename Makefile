# convlab: every command a person types. `make help` lists them.
#
#   T=      a task or rung: a path, an id (02_naive_c/conv2d) or a prefix of ids
#   LAB=    only this lab: 02
#   PYTHON= use an environment that already has torch >= 2.11 instead of making .venv
#   ISA=     avx2 or avx512: no wider vectors, in our code and in PyTorch; builds in build/avx2

# A value is data: make hands each that a person types on in the environment, as it
# stands, and nothing below expands one, wherever it comes from.
TYPED := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
$(foreach name,$(TYPED),$(eval override $(name) := $$(value $(name))))
export $(TYPED)
export CONVLAB_TYPED := $(TYPED)

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
include common/isa.mk

# where Python finds what is ours: grader, signatures and cusim, convlab
PATHS := .:common/python:grader/python

# READY: what grading needs is installed; MORE: what tests, notebooks and training need
# besides. Marker files are named after what is pinned, so that a clone or a copy with
# newer dates installs nothing.
ifdef PYTHON
PY    := "$$PYTHON"
READY :=
MORE  :=
else
PY    := .venv/bin/python
HASH   = $(firstword $(shell (cat $(1:%=requirements/%.txt); echo $(PATHS)) | sha256sum))
READY := .venv/ready-$(call HASH,uv requirements)
MORE  := .venv/more-$(call HASH,uv requirements development)
endif

GRADER := $(PY) -m grader

.DEFAULT_GOAL := help
.PHONY: help grade watch bench carry tables debug diff hint profile progress reset update solution report doctor editor build step jupyter notebooks train test trust stress docs lint nvcc versions lock system-packages handout export submission batch marks similar clean

help:  ## list these commands
	@echo 'convlab: carry tensor operators from Python to CUDA. Start with: make grade LAB=02'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  T=02_naive_c/conv2d chooses a task, T=02_naive_c/conv2d/01 a rung, LAB=02 a lab'
	@echo '  ISA=avx2 or ISA=avx512 allows no wider vectors: make bench T=... ISA=avx2'

# a table that says what is missing is no error of make's; with STRICT=1 it is
grade: export STRICT ?= 0
grade: $(READY)  ## check everything, or T= or LAB= [CHECK=forward|backward|card FRESH=1 JOBS= TIMES=1 STRICT=1]
	@$(GRADER) grade

bench: $(READY)  ## time T= on every speed case against PyTorch, or NET=resnet18 [CASES= PARTS= THREADS= AGAINST=; a GPU: COUNTS=off BUDGET=]
	@$(GRADER) bench

carry: $(READY)  ## build/carried: packages and bubblewrap, for a machine without network
	@$(GRADER) carry

tables: $(READY)  ## put the tables of docs/results into the READMEs of the labs
	@$(GRADER) tables

debug: $(READY)  ## stop inside a case: T=rung CASE=name [SEED= DTYPE=f32; CUDA: THREAD= BLOCK=]
	@$(GRADER) debug

watch: $(READY)  ## grade a file each time it is saved: everything, or T= or LAB=
	@$(GRADER) watch

diff: $(READY)  ## what T=rung changes against the rung that it builds on
	@$(GRADER) diff

hint: $(READY)  ## one more hint for T=
	@$(GRADER) hint

profile: $(READY)  ## where the time of T=rung goes and what limits it, in words
	@$(GRADER) profile

progress: $(READY)  ## show points by lab and over time, and the next step
	@$(GRADER) progress

reset: $(READY)  ## restore T= from the handout; your file is kept as a copy
	@$(GRADER) reset

update: $(READY)  ## update your files to a newer handout, FROM=archive; nothing is lost
	@$(GRADER) update

solution: $(READY)  ## the reference of T=, once its KEY= is released [FROM=convlab-solutions.zip]
	@$(GRADER) solution

report: $(READY)  ## make build/grade/report.html from the last results again
	@$(GRADER) report

export: $(READY)  ## the last results for TO=junit,gradescope,autolab,github
	@$(GRADER) export

build: $(READY)  ## compile everything, or T=, and show the first error of each rung
	@$(GRADER) build

step: $(READY)  ## STEPS=pybind or aten: the first steps of lab 05, all operators or T=
	@$(GRADER) step

jupyter: $(MORE)  ## open the notebooks of the labs in a browser
	@$(PY) -m jupyter lab labs

notebooks: $(MORE)  ## run every notebook of the labs; pages in build/notebooks
	@PYTHONPATH=$(PATHS) $(PY) -m grader.commands.notebooks

train: $(MORE)  ## train a network with every make of layers [NET= DATA= EPOCHS= VARIANTS= PROFILE=1]
	@T= LAB=05 CONVLAB_TYPED= $(GRADER) build
	@$(PY) labs/05_torch_extension/train

editor: $(READY)  ## compile_commands.json: an editor with clangd knows our headers and flags
	@$(GRADER) editor

doctor: $(READY)  ## show what this machine has, and what you lose without a missing tool
	@$(GRADER) doctor

test: $(MORE)  ## lint, and every test of convlab itself [FAST=1: one minute of tests; WHOLE=1: no samples]
	@$(PY) -m tests

trust: $(MORE)  ## the fault table: every known way to break or cheat, and its verdict
	@PYTHONPATH=$(PATHS) $(PY) -m tests.proofs.trust

stress: $(MORE)  ## long proofs: hundreds of seeds, all mutations; tables in docs/results
	@PYTHONPATH=$(PATHS) $(PY) -m tests.proofs.stress

handout: $(READY)  ## derive what students get, in build/handout [COURSE=docs/courses/weekend.toml]
	@$(GRADER) handout

docs: $(MORE)  ## the book, for students and for instructors, in build/book [EDITION=student]
	@$(PY) docs/book

submission: $(READY)  ## grade COURSE= FROM=alice.zip NAME=alice [WHEN= PART=]
	@$(GRADER) submission

batch: $(READY)  ## grade a class: COURSE= SUBMISSIONS=inbox/ or class.zip [WHEN= PART= ROSTER= DRY=1 JOBS= ENGINE=slurm]
	@$(GRADER) batch

marks: $(READY)  ## everybody's points in COURSE=, and TO=pages,moodle-feedback,class,canvas,moodle, ...
	@$(GRADER) marks

similar: $(READY)  ## files of two students that have much in common: COURSE= SUBMISSIONS=inbox/ [PART=]
	@$(GRADER) similar

lint: $(MORE)  ## only style, and the order of the rooms
	@$(PY) -m pytest tests/house/test_style.py tests/house/test_functions.py \
	    tests/house/test_layers.py

nvcc: $(READY)  ## NVIDIA's compiler from PyPI (0.3 GB), where the system has none
	@VIRTUAL_ENV=.venv .venv/bin/uv pip install -q --require-hashes -r requirements/nvcc.txt

versions: $(READY)  ## lab 05's binary under another PyTorch (5 GB of disk in build/versions)
	@$(PY) -m grader.commands.versions

lock: $(READY)  ## pin requirements/*.in anew, with hashes and without addresses
	@cd requirements && for name in uv requirements development nvcc carried other_torch; do \
	    ../.venv/bin/uv pip compile --universal --python-version 3.11 --upgrade \
	        --no-emit-index-url --no-emit-find-links --generate-hashes --no-header \
	        --no-annotate -q $$name.in -o $$name.txt || exit 1; \
	done

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Slurm is for the repository's tests. They start its daemons: a policy forbids it to apt.
SLURM  := $(if $(wildcard tests),munge slurmctld slurmd slurm-client)
POLICY := /usr/sbin/policy-rc.d
INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends
system-packages:  ## what Debian and Ubuntu can add: sandbox, debugger, clang, emulators, Chromium, tmux
	$(SUDO) apt-get update -q
	$(SUDO) sh -ec '[ -e $(POLICY) ] || { trap "rm $(POLICY)" EXIT; \
	    printf "#!/bin/sh\nexit 101\n" > $(POLICY); chmod +x $(POLICY); }; \
	    $(INSTALL) bubblewrap gdb clang chromium valgrind qemu-user gcc-aarch64-linux-gnu \
	    libc6-dev-arm64-cross tmux $(SLURM)'

clean:  ## remove everything that was built, but not .venv and what was found out
	@for folder in build $(KNOWN_ISA:%=build/%); do \
	    [ -d $$folder ] || continue; \
	    find $$folder -mindepth 1 -maxdepth 1 ! -name grade $(KNOWN_ISA:%=! -name %) \
	        -exec rm -rf {} +; \
	    [ ! -d $$folder/grade ] || find $$folder/grade -mindepth 1 ! -name 'ledger*' -delete; \
	done

# The Python environment. A marker file says that it is whole.
.venv/ready-%:
	@echo 'Making .venv: about 3 GB to download and 5.8 GB of disk, one to three minutes'
	@echo 'on a fast line. (make grade PYTHON=python3 uses an environment you have.)'
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo 'convlab: python3 is older than 3.11; install a newer one'; exit 1; }
	@python3 -c 'import os, re, sys; sys.exit(bool(re.search(r"[^\w/.@+=~-]", os.getcwd())))' || \
	    { echo "convlab: make cannot handle this folder's path: $$PWD; move it elsewhere"; exit 1; }
	@[ -x .venv/bin/python ] || python3 -m venv .venv || \
	    { echo 'convlab: cannot make .venv (apt-get install python3-venv? disk full?)'; exit 1; }
	@rm -f .venv/ready*
	@.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes \
	    -r requirements/uv.txt
	@VIRTUAL_ENV=.venv .venv/bin/uv pip install -q --require-hashes --compile-bytecode \
	    -r requirements/requirements.txt || \
	    { echo 'convlab: the packages could not be installed (network? 7 GB of free disk?)'; exit 1; }
	@printf '../../../../%s\n' $(subst :, ,$(PATHS)) > \
	    "$$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/convlab.pth"
	@touch $@

.venv/more-%: | $(READY)
	@echo 'Adding to .venv what tests, notebooks and training need: 0.5 GB of disk.'
	@VIRTUAL_ENV=.venv .venv/bin/uv pip install -q --require-hashes --compile-bytecode \
	    -r requirements/development.txt || \
	    { echo 'convlab: the packages could not be installed (network? free disk?)'; exit 1; }
	@rm -f .venv/more*
	@touch $@
