# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A plugin for pytest: tests run programs under ruse (doc/pytest.md of ruse)."""
import os
import re
import shutil

import pytest

from .lab import Lab
from .net import Forbidden
from .process import CommandError, Process, Result, RuseError

__all__ = ["CommandError", "Process", "Result", "RuseError"]
MARKER = "rdma_expect"
LIKE = "ruse_like"
HOSTS_MAX = 16


def pytest_addoption(parser):
    group = parser.getgroup("ruse", "RDMA by ruse")
    group.addoption("--ruse", metavar="PROGRAM", default="ruse", help="the program ruse (default: that in PATH)")
    group.addoption("--ruse-artifacts", metavar="DIR",
                    help="keep a capture, a page, the summary and the explanation of each failed test in DIR")


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARKER}(conditions, ...): conditions of `ruse run --expect` for all commands of"
                                       " the test")
    config.addinivalue_line("markers", f"{LIKE}(name): the devices have the limits of an adapter, as by `ruse run --like`")


def conditions_of(item):
    """The conditions of all markers, those of the class and module first."""
    found = []
    for mark in reversed(list(item.iter_markers(MARKER))):
        if not mark.args or mark.kwargs or not all(isinstance(a, str) and a for a in mark.args):
            raise RuseError(f'{MARKER}: the arguments are conditions, such as "rdma,no-errors"')
        found.extend(mark.args)
    return found


def like_of(item):
    """The argument of the marker that is nearest to the test; None: there is none."""
    mark = item.get_closest_marker(LIKE)
    if mark and (len(mark.args) != 1 or mark.kwargs or not isinstance(mark.args[0], str) or not mark.args[0]):
        raise RuseError(f'{LIKE}: the argument is one of `ruse like list`, such as "connectx-5"')
    return mark.args[0] if mark else None


def program_of(config):
    name = config.getoption("--ruse")
    path = shutil.which(name)
    if not path:
        raise RuseError(f"{name}: not found; the option --ruse names it")
    return os.path.abspath(path)


@pytest.fixture
def _ruse_lab(request):
    config = request.config
    lab = Lab(program_of(config), conditions_of(request.node), bool(config.getoption("--ruse-artifacts")),
              f"pytest {request.node.nodeid}", like_of(request.node))
    try:
        request.node._ruse_lab = lab
        yield lab
    finally:
        lab.close()


@pytest.fixture
def ruse(_ruse_lab):
    """A host with a rused of its own: run(), start(), fault, fabric, ..."""
    return _ruse_lab.host()


@pytest.fixture
def ruse_fault(ruse):
    """The fault rules of the fixture ruse: add("drop 1%"), ..."""
    return ruse.fault


@pytest.fixture
def ruse_fabric(ruse):
    """The InfiniBand fabric of the fixture ruse: up("--star", 4, sm=True), run("H1", "ibnetdiscover"), ..."""
    return ruse.fabric


@pytest.fixture
def ruse_hosts(_ruse_lab):
    """ruse_hosts(2): hosts in network namespaces of their own, connected by a network. Skips the test, with the reason,
    where such namespaces are not permitted."""
    made = []

    def make(count=2):
        if made:
            raise RuseError("ruse_hosts was called before in this test")
        if not 2 <= count <= HOSTS_MAX:
            raise RuseError(f"ruse_hosts({count}): 2 to {HOSTS_MAX} hosts")
        made.append(count)
        try:
            return _ruse_lab.network(count)
        except Forbidden as e:
            pytest.skip(f"ruse_hosts: {e}")
    return make


def force(outcome, exception):
    """The exception becomes the outcome of a hook."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(exception)
    else:
        outcome._excinfo = (type(exception), exception, None)     # pluggy before 1.1


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A test that has passed fails if its conditions do not hold."""
    outcome = yield
    lab = getattr(item, "_ruse_lab", None)
    if outcome.excinfo is not None:
        return
    problems = []
    if lab and lab.conditions:
        problems = lab.judge()
    elif not lab and item.get_closest_marker(MARKER):
        problems = [f"{MARKER}: the test uses no fixture of ruse, so nothing is counted"]
    if problems:
        force(outcome, pytest.fail.Exception("\n".join(problems), pytrace=False))


def place_of(item):
    return re.sub(r"[^\w.=+-]+", "_", item.nodeid).strip("_.")[:200]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    """The report of a test that has failed says why; its files are kept."""
    outcome = yield
    report = outcome.get_result()
    lab = getattr(item, "_ruse_lab", None)
    if not lab or lab.closed or not report.failed:
        return
    lab.failed = True
    # The conditions may be the failure itself.
    sections = [(title, text) for title, text in lab.sections() if text != str(report.longrepr)]
    where = item.config.getoption("--ruse-artifacts")
    if where:
        try:
            kept = lab.keep(os.path.join(os.path.abspath(where), place_of(item)), report.longreprtext, sections)
            sections.append(("ruse artifacts", kept))
        except OSError as e:
            sections.append(("ruse artifacts", f"not kept: {e}"))
    report.sections.extend(sections)
