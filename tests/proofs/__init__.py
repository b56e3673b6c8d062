# SPDX-License-Identifier: MIT
"""Long proofs: every fault, mutation and seed; make test draws a sample."""
