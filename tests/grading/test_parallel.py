"""Several submissions at a time: the same marks, whatever happens to those who do the work."""

import csv
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from autograder.cli import main
from autograder.grading import workers
from autograder.grading.driving import Limits
from tests.grading.conftest import School
from tests.grading.notebooks import ONE, OVERFLOWING, WRONG_AXIS, solved, with_code

DIES = "import os\nos.abort()"
CLASS: dict[str, dict[str, str | None]] = {
    "ada": {},
    "bo": {"softmax": OVERFLOWING},
    "cy": {"softmax": WRONG_AXIS, "self_attention": None},
    "di": {"softmax": None, "attention": DIES},
    "ed": {},
    "fay": {"attention": None},
}
OUTCOME = ("student", "exercise", "points", "max_points", "outcome", "mistake")


def fill(school: School) -> School:
    for student, functions in CLASS.items():
        school.hand_in(student, solved(**functions))
    school.hand_in("gil", b"not a notebook")
    return school


def outcomes(school: School) -> list[tuple[str, ...]]:
    """The table of marks, without what tells of moments and numbers."""
    with school.classroom.marks.open(encoding="utf-8") as file:
        return [tuple(row[name] for name in OUTCOME) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def expected(school: School) -> list[tuple[str, ...]]:
    """The marks that this process gives, one submission after the other."""
    assert not any(graded.fault for graded in fill(school).grade(ONE).values())
    return outcomes(school)


def test_processes_give_the_same_marks(new_school, expected):
    fill(new_school)
    graded = new_school.grade(ONE, jobs=2)
    assert list(graded) == sorted(graded)
    assert not any(one.fault for one in graded.values())
    assert outcomes(new_school) == expected
    again = new_school.grade(ONE, jobs=2)
    assert not any(one.fresh for one in again.values())


def forked() -> list[psutil.Process]:
    """The process that workers of this one are forked from, and the workers."""
    all_of_them = psutil.Process().children(recursive=True)
    return [process for process in all_of_them if "forkserver" in " ".join(process.cmdline())]


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.05)


def records_in(school: School) -> int:
    return len(list(school.classroom.verdicts.glob(f"*/{ONE}.json")))


@pytest.mark.parametrize("which", [0, 1], ids=["the one that workers are forked from", "a worker"])
def test_a_process_that_dies_loses_nothing(new_school, expected, which):
    fill(new_school)
    killed: list[int] = []

    def kill_one(_: object) -> None:
        if not killed:
            killed.append(forked()[which].pid)
            os.kill(killed[0], signal.SIGKILL)

    graded = new_school.grade(ONE, jobs=2, report=kill_one)
    assert killed
    assert not any(one.fault for one in graded.values())
    assert outcomes(new_school) == expected


def test_what_kills_its_process_each_time_is_a_fault_and_stops_nobody():
    spawn = multiprocessing.get_context("spawn")
    crew = workers.Crew[str](lambda: ProcessPoolExecutor(2, spawn), 4, die_for_ed)
    for name in ("ada", "ed", "fay"):
        crew.submit(name, workers.Request(name.encode(), (), 7, Limits(), None))
    answers = dict(crew.next() for _ in range(3))
    assert not crew.busy
    crew.close()
    assert isinstance(answers["ed"], workers.Lost)
    assert answers["ada"] == answers["fay"] == workers.Done(7)


class Unwilling(ThreadPoolExecutor):
    """Refuses a few times, as where the process that workers are forked from has just ended."""

    refusals = 0

    def submit(self, *arguments: Any, **more: Any) -> Any:
        if Unwilling.refusals:
            Unwilling.refusals -= 1
            raise ConnectionRefusedError
        return super().submit(*arguments, **more)


@pytest.mark.parametrize(("refusals", "kind"), [(2, workers.Done), (10**6, workers.Lost)])
def test_processes_that_do_not_start_are_started_again(monkeypatch, refusals, kind):
    monkeypatch.setattr(workers, "STARTS", 3)
    monkeypatch.setattr(Unwilling, "refusals", refusals)
    crew = workers.Crew[str](lambda: Unwilling(1), 4, lambda request: workers.Done(request.seed))
    crew.submit("ada", workers.Request(b"", (), 7, Limits(), None))
    who, answer = crew.next()
    crew.close()
    assert who == "ada"
    assert isinstance(answer, kind)


def die_for_ed(request: workers.Request) -> workers.Done:
    if request.data == b"ed":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return workers.Done(request.seed)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_cluster_gives_the_same_marks_though_a_worker_is_killed(new_school, expected, cluster):
    fill(new_school)
    killed: list[int] = []

    def kill_one(_: object) -> None:
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    graded = new_school.grade(ONE, scheduler=cluster.scheduler_address, report=kill_one)
    assert killed
    assert not any(one.fault for one in graded.values())
    assert outcomes(new_school) == expected


def test_where_there_is_no_cluster_one_sentence_says_so(new_school):
    fill(new_school)
    with pytest.raises(workers.NoCluster, match="There is no Dask scheduler at tcp://"):
        new_school.grade(ONE, scheduler="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    "address", ["localhost", "tcp://[::1", "tcp://a:x", "carrier-pigeon://a:1"]
)
def test_what_is_no_address_is_said_to_be_none(new_school, address):
    fill(new_school)
    with pytest.raises(workers.NoCluster, match="There is no Dask scheduler at "):
        new_school.grade(ONE, scheduler=address)


def test_a_scheduler_that_goes_leaves_rows_for_everybody(new_school, expected, tmp_path):
    fill(new_school)
    found = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    dask += ["--port", "0", "--no-dashboard", "--scheduler-file", str(found)]
    scheduler = subprocess.Popen(dask, stderr=subprocess.DEVNULL)
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(found)]
    work += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen(work, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        with Client(scheduler_file=str(found), set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
            address = client.scheduler.address
        # One thread works, so two are sent out at a time: some are under way, some still here.
        graded = new_school.grade(ONE, scheduler=address, report=lambda _: scheduler.kill())
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    faults = [one.fault for one in graded.values() if one.fault]
    assert set(graded) == {*CLASS, "gil"}
    assert len(faults) >= 2
    said = f"The scheduler at {address} has gone."
    assert all(fault.startswith(said) for fault in faults), faults
    assert {row[0] for row in outcomes(new_school)} == set(graded)
    assert not any(one.fault for one in new_school.grade(ONE).values())
    assert outcomes(new_school) == expected


def grading(school: School, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", ONE, *options],
        cwd=school.project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_grader_killed_in_the_middle_goes_on_from_there(new_school, expected, jobs):
    fill(new_school)
    grader = grading(new_school, "--jobs", jobs)
    try:
        wait_for(lambda: records_in(new_school) >= 2)
        family = psutil.Process(grader.pid).children(recursive=True)
    finally:
        grader.kill()
        grader.wait()
    wait_for(lambda: not any(process.is_running() for process in family), 20)
    before = records_in(new_school)
    graded = new_school.grade(ONE)
    assert not any(one.fault for one in graded.values())
    assert sum(not one.fresh for one in graded.values()) in (before - 1, before)
    assert outcomes(new_school) == expected


def test_ctrl_c_keeps_what_is_graded(new_school):
    fill(new_school)
    slow = with_code(solved(), "import time\ntime.sleep(25)", before="softmax")
    new_school.hand_in("zoe", slow)  # so that something is under way
    grader = grading(new_school, "--jobs", "2")
    wait_for(lambda: records_in(new_school) >= 1)
    family = psutil.Process(grader.pid).children(recursive=True)
    grader.send_signal(signal.SIGINT)
    assert grader.wait(30) != 0
    wait_for(lambda: not any(process.is_running() for process in family), 20)
    assert {row[0] for row in outcomes(new_school)} >= {
        path.parent.name for path in new_school.classroom.verdicts.glob(f"*/{ONE}.json")
    }


def test_two_graders_at_once_corrupt_nothing(new_school, expected):
    fill(new_school)
    graders = [grading(new_school, "--jobs", "1") for _ in range(2)]
    codes = sorted(grader.wait(300) for grader in graders)
    assert codes == [0, 1]  # the second one is told to wait
    assert outcomes(new_school) == expected


def test_jobs_and_scheduler_are_one_or_the_other(new_school, monkeypatch):
    monkeypatch.chdir(new_school.project.root)
    done = CliRunner().invoke(main, ["grade", "--jobs", "2", "--scheduler", "tcp://x:1"])
    assert done.exit_code == 2
    assert "choose one" in done.stderr
