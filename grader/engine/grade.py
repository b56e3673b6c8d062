# SPDX-License-Identifier: MIT
"""Grades a selection: the schedule runs the jobs of its graph and collects the answers.

If the ledger knows an answer, the rung is not checked again. A new answer is kept there
at once. So an interrupted grading continues where it stopped.
"""

from __future__ import annotations

import gc
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signatures import DIRECTIONS

from grader import working
from grader.checks.check_result import CheckResult
from grader.checks.not_run import our_fault
from grader.closing import Closing
from grader.course.rungs import COMPILED, Selection, Task
from grader.engine import plan, schedule
from grader.engine.answers import records
from grader.engine.answers.ledger import CHECKS, Ledger
from grader.engine.checking import untouched
from grader.engine.checking.rung_checker import Answer, Checker
from grader.engine.grading_step import ChecksBegun, GradingStep
from grader.engine.graph import Graph, Node
from grader.engine.race import Race
from grader.engine.schedule import Job, Schedule
from grader.engine.score import RungResult, TaskResult
from grader.engine.steps import Ask, BuildPackage, Compile, Gates, Now, Try, Values
from grader.engine.times import Times
from grader.runner.supervisor import cores
from grader.toolchain.extension.package import Package
from grader.toolchain.products import Build
from grader.verdicts import Verdict


def new_seed() -> int:
    """A seed nobody knows before the run; printed, so that it can be repeated."""
    return secrets.randbelow(1_000_000)


class Grader(Closing):
    """Grades a selection; `close` ends every worker, also after an interruption."""

    asks: type[Checker] = Checker

    def __init__(
        self,
        selection: Selection,
        *,
        seed: int,
        check: str | None = None,
        progress: Callable[[GradingStep], None] = lambda _: None,
        slots: int = 1,
        ledger: Ledger | None = None,
        fresh: bool = False,
    ) -> None:
        """`check`: forward or gradient, only these. So many jobs run side by side as
        there are `slots`. Without a `ledger` nothing is remembered; `fresh`: what it
        knows is asked again.
        """
        self.selection, self.seed, self.check = selection, seed, check
        self.progress, self.ledger, self.fresh = progress, ledger, fresh
        self.slots = slots
        self.done, self.total = 0, len(selection.rungs)
        wanted = (r for task in selection.tasks for r in task.rungs)
        self.begun = ChecksBegun(r for r in wanted if r.id in selection.rungs)
        self.reused = 0  # answers from before, of rungs that were wanted
        self.checker = self.asks(
            selection, seed=seed, check=check, announce=self._announce
        )
        self.links = self.checker.links
        self.graph = Graph(selection, self.links, ledger, check)
        self.race = Race(seed, self.say, self.links)
        again: dict[str, Any] = {"fresh": fresh, "ready": self._import_once}
        self.times = Times(self.race, self.checker, self.graph, ledger, **again)
        ranks = self._ranked(ledger.seconds() if ledger else {})
        self.schedule = Schedule(self, self.checker, ranks)
        self._imported = False  # PyTorch, by this run
        self._ended: dict[str, TaskResult] = {}

    def run(self) -> list[TaskResult]:
        """Grade everything that was selected."""
        self._advance()  # what the ledger knows, and the first jobs
        if self.schedule.waiting:
            self._import()
            self._work()
        for task in self.selection.tasks:  # those without a file
            if task.id not in self._ended:
                self._end(task)
        found = [self._ended[task.id] for task in self.selection.tasks]
        return found if self.check else [self.times.of(r, self.seed) for r in found]

    def close(self) -> None:
        """End what was started."""
        self.schedule.close()
        self.race.close()
        self.checker.close()

    def without_sanitizers(self) -> str:
        """Why memory was not checked; "" if it was, or if nothing in C was asked."""
        found = [n for n in self.graph.nodes.values() if n.answer]
        asked = [n for n in found if n.answer and not n.answer.result.since]
        compiled = any(
            plan.kind(n.rung) in COMPILED and not n.rung.needs for n in asked
        )
        in_c = any(task.language == "c" for task in self.selection.tasks)
        return self.checker.builds.without_sanitizers() if compiled and in_c else ""

    # ---- what is being done ----------------------------------------------------------

    def _announce(self, name: str, words: str) -> None:
        """Of a job, in whichever process it runs."""
        if not schedule.said(name, words):
            self.say(name, words)

    def say(self, name: str, words: str) -> None:
        """A check or a build of a rung begins."""
        self.begun.begin(name, words)
        self.show(name, words)

    def show(self, name: str, words: str, ended: TaskResult | None = None) -> None:
        """What is being done about a rung, or a task that has `ended`."""
        checks = self.begun.count, self.begun.total
        self.progress(GradingStep(name, words, self.done, self.total, ended, *checks))

    def _import(self) -> None:
        """PyTorch; meanwhile other threads compile. None of them lives on after it."""
        waiting = [node.rung for node in self.graph.undecided()]
        if self._alone() and any(plan.kind(rung) == plan.PYTHON for rung in waiting):
            self.checker.warm_up()
        rungs = [rung for rung in waiting if plan.kind(rung) in COMPILED]
        self._imported = True
        ahead = self.checker.builds.ahead(rungs, self.slots)
        try:
            gc.disable()  # nearly all that importing makes is there to stay
            with working.on("load PyTorch"):
                import torch
                import torch.fx.experimental.symbolic_shapes  # else at first use

            gc.freeze()
            gc.enable()
            torch.set_num_threads(1)
        finally:
            ahead.shutdown(wait=True, cancel_futures=True)

    def _import_once(self) -> None:
        """PyTorch, if no job has needed it, and this process on its core."""
        if not self._imported:
            self._import()
        cores.pin()

    def _alone(self) -> bool:
        """Whether one process is enough."""
        waiting = self.graph.undecided()
        return self.slots == 1 or (len(waiting) == 1 and not waiting[0].rung.step)

    def _work(self) -> None:
        """Run all jobs. Processes are made after the import: they share its memory."""
        slots = 1 if self._alone() else self.slots
        if slots == 1:
            cores.pin()
        self.schedule.run(slots)
        self.schedule.close()
        lost = [node.rung.id for node in self.graph.undecided()]
        assert not lost, f"these files were never graded: {lost}"

    def _ranked(self, seconds: dict[str, float]) -> dict[str, float]:
        """Rung -> seconds until it and all that may wait for it are done, by what each
        took last time. One process does them in the order of the course.
        """
        names = list(self.graph.nodes)
        if self.slots == 1:
            return {name: float(len(names) - i) for i, name in enumerate(names)}
        ranks = {}
        for task in self.graph.tasks.values():
            above = 0.0
            for rung in reversed(task.rungs):
                if rung.id in names:
                    above += seconds.get(rung.id, plan.SECONDS[plan.kind(rung)])
                ranks[rung.id] = above
        return ranks

    # ---- jobs ------------------------------------------------------------------------

    def now(self) -> Now:
        """What a job is told when it starts."""
        asked = [job.name for job in self.schedule.waiting if isinstance(job, Ask)]
        kinds = {plan.kind(self.checker.rungs[name]) for name in asked}
        return Now(self.links.learnt(), python_follows=plan.PYTHON in kinds)

    def came(self, job: Job, answer: Any) -> None:
        """What follows of a job's answer."""
        node = self.graph.nodes[job.name]
        if node.right is None:
            match job:
                case Compile():
                    self._compiled(node, answer)
                case Try():
                    node.right = answer
                    self.links.learn({job.name: answer})
                case BuildPackage():
                    self._packaged(node, answer)
                case Values():
                    self._valued(node, answer)
                case Gates():
                    node.gates = answer
                    if node.values is not None:
                        self._join(node)
                case Ask():
                    self._answered(node, answer)
        self._advance()

    def lost(self, job: Job, sentence: str) -> None:
        """A job that came to nothing by no fault of the rung."""
        node = self.graph.nodes[job.name]
        if node.right is None:
            found = RungResult(node.rung, tuple(our_fault(sentence)))
            self._answered(node, Answer(found))
        self._advance()

    def _add(self, node: Node, job: Job) -> None:
        """Have this done for a rung."""
        node.begun.add(type(job))
        self.schedule.add(job)

    def _advance(self) -> None:
        """Add every job that can be added now, until nothing more follows."""
        state = (-1, -1)
        while state != (state := self.graph.state()):
            for node in self.graph.undecided():
                self._step(node)

    def _step(self, node: Node) -> None:
        """What can be done for one rung."""
        if self._is_starter(node):
            return
        if not self.graph.compiled(node):
            if Compile not in node.begun:
                self._add(node, Compile(node.rung.id))
            return
        if node.begun - {Compile}:
            return
        linked = self.graph.linked_with(node)
        if any(right is None for _, _, right in linked):
            return
        if self.ledger:
            node.key = self.graph.key(node, linked)
            if self._remembered(node):
                return
        if not node.wanted:
            defines = node.facts[0] if node.facts else DIRECTIONS
            self._add(node, Try(node.rung.id, defines))
        elif node.rung.in_package:
            self._add(node, BuildPackage(node.rung.id))
        else:
            self._add(node, Ask(node.rung.id))

    # ---- what comes of them ----------------------------------------------------------

    def _is_starter(self, node: Node) -> bool:
        """Decide an untouched starter without asking it, and an untouched exhibit if
        more than bug hunts are asked for.
        """
        if node.begun or self.fresh or not node.wanted:
            return False
        if node.rung.exhibit and not all(t.is_hunt for t in self.selection.tasks):
            result = untouched.exhibit(node.rung)
        else:
            result = untouched.result(node.rung)
        if result:
            checks = tuple(self.checker.only_wanted(result.checks))
            self._decided(node, Answer(replace(result, checks=checks)))
        return result is not None

    def _remembered(self, node: Node) -> bool:
        """Take the ledger's answer if it has one that counts."""
        if not self.ledger or self.fresh:
            return False
        row = self.ledger.answer(CHECKS, node.rung.id, node.key, self.check or "")
        if row is None:
            return False
        self.ledger.renew(row, self.check or "")
        result = records.rung_result(node.rung, row)
        checks = tuple(self.checker.only_wanted(result.checks))
        self.reused += node.wanted
        self._decided(node, Answer(replace(result, checks=checks)))
        return True

    def _compiled(self, node: Node, build: Build) -> None:
        node.facts = build.directions, build.wants
        self.checker.builds.release[node.rung.id] = build
        if self.ledger and not build.late:
            record = {"defines": build.directions, "wants": build.wants}
            self.ledger.keep_facts(self.graph.content(node), record)

    def _packaged(self, node: Node, built: Package) -> None:
        """An operator of lab 05 is built: its values and its gates, side by side."""
        node.package = built
        if built.folder is None:
            self._join(node)
            return
        self._add(node, Values(node.rung.id, built))
        if self.slots > 1:
            self._add(node, Gates(node.rung.id, built))

    def _valued(self, node: Node, values: list[CheckResult]) -> None:
        assert node.package
        node.values = values
        passed = any(check.verdict is Verdict.PASS for check in values)
        if Gates not in node.begun and passed:
            self._add(node, Gates(node.rung.id, node.package))
        elif Gates not in node.begun or node.gates is not None:
            self._join(node)

    def _join(self, node: Node) -> None:
        assert node.package
        words = node.rung, node.package, node.values or [], node.gates or {}
        self._answered(node, Answer(self.checker.packages.joined(*words)))

    def _answered(self, node: Node, answer: Answer) -> None:
        """A rung was asked."""
        result = answer.result.with_commands(self.seed)
        answer = replace(answer, result=result)
        if self.ledger:
            records.keep(
                self.ledger,
                node.key,
                result,
                asked=self.check or "",
                seed=self.seed,
                seconds=answer.seconds,
            )
        self._decided(node, answer)

    def _decided(self, node: Node, answer: Answer) -> None:
        verdicts = {d: answer.result.verdict(d) for d in DIRECTIONS}
        node.answer = answer
        node.right = {d: v is Verdict.PASS for d, v in verdicts.items() if v}
        self.links.learn({node.rung.id: node.right})
        if node.wanted:
            self.done += 1
            self.begun.end(node.rung.id)
            self._end(self.graph.tasks[node.rung.task])

    def _end(self, task: Task) -> None:
        """Tell of a task whose rungs are all decided."""
        nodes = self.graph.task_nodes(task.id)
        results = [node.answer.result for node in nodes if node.answer]
        if len(results) < len(nodes):
            return
        found = TaskResult(task, tuple(results), self._asked(task, results))
        self._ended[task.id] = found
        self.show(task.id, "", found)

    def _asked(self, task: Task, results: list[RungResult]) -> tuple[str, ...]:
        """The directions this run was to check; of single rungs, what they define."""
        if self.check and self.check != plan.CARD:
            asked = "forward" if self.check == "forward" else "backward"
            return tuple(d for d in task.directions if d == asked)
        if len(results) == len(task.rungs):
            return task.directions
        seen = [d for d in DIRECTIONS if any(r.verdict(d) for r in results)]
        return tuple(seen) or task.directions
