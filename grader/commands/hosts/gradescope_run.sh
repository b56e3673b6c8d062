#!/usr/bin/env bash
# Gradescope runs this for each submission. Correctness alone: its machines share cores.
here="${AUTOGRADER:-/autograder}"
cd "$here/source/convlab" || exit 1
export SPEED=off
"${PYTHON:-.venv/bin/python}" -m grader autograde --host gradescope \
    "$here/submission" --to "$here/results/results.json"
