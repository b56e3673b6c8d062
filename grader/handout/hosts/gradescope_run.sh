#!/usr/bin/env bash
# Gradescope runs this for each submission. Correctness alone: its machines share cores.
here="${AUTOGRADER:-/autograder}"
cd "$here/source/convlab" || exit 1
export SPEED=off
export HOST=gradescope FROM="$here/submission" TO="$here/results/results.json"
"${PYTHON:-.venv/bin/python}" -m grader autograde
