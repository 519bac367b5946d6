"""Workers that are stuck: their calls are abandoned, counted, and replaced up to a limit."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from backstaff import workers as module
from backstaff.tool import Context, Result
from backstaff.wire.connection import Connection
from backstaff.workers import (
    GRACE_S,
    HANGS_S,
    MAX_COMPUTING,
    MAX_STUCK,
    MAX_THREADS,
    WAITS_S,
    Workers,
)
from tests.py.epc import frame, parsed
from tests.py.processes import DEADLINE
from tests.py.servers import Nothing, registry_of, saying, server_at
from tests.py.wire.jobs import Doing


@dataclass
class Clock:
    """A clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class DeadDisk:
    """A tool that waits for a file system until the test releases it."""

    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    back: threading.Event = field(default_factory=threading.Event)

    def hang(self) -> None:
        self.entered.release()
        assert self.back.wait(DEADLINE)

    def run(self, _: Nothing, __: Context) -> Result:
        self.hang()
        return Result(text="too late", data={})

    def has(self, count: int) -> None:
        """Wait until `count` more calls hang."""
        for _ in range(count):
            assert self.entered.acquire(timeout=DEADLINE)


@pytest.fixture
def disk() -> Iterator[DeadDisk]:
    disk = DeadDisk()
    yield disk
    disk.back.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pool(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Workers:
    """Workers that are watched only when the test says so."""
    monkeypatch.setattr(Workers, "_watch", lambda _: None)
    return Workers(clock)


def test_overdue_job_is_abandoned_once_and_not_before(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    job = Doing(disk.hang, seconds=5)
    pool.submit(job)
    disk.has(1)
    pool.check_deadlines()  # what the start of a thread took counts for this check
    clock.now += 5 + GRACE_S
    pool.check_deadlines()
    assert job.ends == []
    clock.now += 0.1
    pool.check_deadlines()
    pool.check_deadlines()
    assert job.ends == [1]


def test_cancelled_job_has_time_to_return_however_long_it_has_run(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    jobs = [Doing(disk.hang, seconds=50) for _ in range(MAX_STUCK)]
    for job in jobs:
        pool.submit(job)
    disk.has(len(jobs))
    pool.check_deadlines()  # what the start of a thread took counts for this check
    clock.now += 40
    assert pool.cancel(jobs[0].uid)
    pool.check_deadlines()
    clock.now += GRACE_S
    pool.check_deadlines()
    assert pool.stuck() < MAX_STUCK
    assert [job.ends for job in jobs] == [[]] * len(jobs)
    clock.now += 0.1
    pool.check_deadlines()
    assert pool.stuck() >= MAX_STUCK
    assert [len(job.ends) for job in jobs] == [1] * len(jobs)


def test_stuck_workers_are_replaced_and_their_jobs_counted(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    jobs = [Doing(disk.hang) for _ in range(MAX_STUCK - 1)]
    for job in jobs:
        pool.submit(job)
    disk.has(len(jobs))
    pool.check_deadlines()  # what the start of a thread took counts for this check
    clock.now += 100
    pool.check_deadlines()
    assert sorted(count for job in jobs for count in job.ends) == [1, 2, 3]
    assert pool.stuck() < MAX_STUCK
    done = [threading.Event() for _ in range(3 * MAX_COMPUTING)]
    for event in done:
        pool.submit(Doing(event.set))
    assert all(event.wait(DEADLINE) for event in done)


def test_jobs_that_wait_behind_stuck_ones_are_run_by_their_replacements(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    quick = threading.Event()
    stuck = [
        Doing(disk.hang, seconds=5 if number < MAX_STUCK - 1 else 50)
        for number in range(MAX_COMPUTING)
    ]
    for job in (*stuck, Doing(quick.set)):
        pool.submit(job)
    disk.has(MAX_COMPUTING)
    pool.check_deadlines()  # what the start of a thread took counts for this check
    assert not quick.is_set()
    clock.now += 10
    pool.check_deadlines()
    assert quick.wait(DEADLINE)
    assert [len(job.ends) for job in stuck] == [1] * 3 + [0] * (MAX_COMPUTING - 3)


def test_with_too_many_stuck_workers_all_others_are_rejected(
    pool: Workers, clock: Clock, disk: DeadDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HANGS_S", 1)  # more than the start of a thread takes
    stuck = [Doing(disk.hang) for _ in range(MAX_COMPUTING)]
    waiting = [Doing(disk.hang) for _ in range(10)]
    for job in (*stuck, *waiting):
        pool.submit(job)
    disk.has(MAX_COMPUTING)
    clock.now += 100
    pool.check_deadlines()
    assert pool.stuck() >= MAX_STUCK
    assert sorted(count for job in stuck for count in job.ends) == [*range(1, MAX_COMPUTING + 1)]
    assert [job.rejected for job in waiting] == [1] * len(waiting)
    job = Doing(disk.hang)
    pool.submit(job)
    assert job.rejected


def test_workers_that_come_back_are_taken_on_again(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    for _ in range(MAX_STUCK):
        pool.submit(Doing(disk.hang))
    disk.has(MAX_STUCK)
    pool.check_deadlines()  # what the start of a thread took counts for this check
    clock.now += 100
    pool.check_deadlines()
    assert pool.stuck() >= MAX_STUCK
    back = threading.Event()
    real = pool._begin  # noqa: SLF001  # called once a job is done

    def counting() -> None:
        real()
        if not pool.stuck():
            back.set()

    pool._begin = counting  # type: ignore[method-assign]  # noqa: SLF001
    disk.back.set()
    assert back.wait(DEADLINE)
    done = threading.Event()
    pool.submit(Doing(done.set))
    assert done.wait(DEADLINE)
    assert pool._threads <= MAX_STUCK  # noqa: SLF001


# ---------------------------------------------------------------------------- who goes first


def begun(pool: Workers, disk: DeadDisk, count: int, **job: Any) -> list[Doing]:  # noqa: ANN401
    """Return `count` jobs of one tool that have begun and hang."""
    jobs = [Doing(disk.hang, **job) for _ in range(count)]
    for one in jobs:
        pool.submit(one)
    disk.has(count)
    return jobs


@pytest.mark.parametrize("slow", [MAX_COMPUTING, 30, 200])
def test_any_number_of_slow_jobs_holds_up_no_job_of_another_tool(
    pool: Workers, disk: DeadDisk, slow: int
) -> None:
    for _ in range(slow):
        pool.submit(Doing(disk.hang, tool_id="test/slow"))
    disk.has(MAX_COMPUTING)
    for number in range(10):
        done = threading.Event()
        pool.submit(Doing(done.set, tool_id=f"test/{number}"))
        assert done.wait(DEADLINE)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="no other thread's time")
def test_jobs_that_wait_for_a_process_take_no_place_of_those_that_compute(
    pool: Workers, disk: DeadDisk
) -> None:
    begun(pool, disk, MAX_COMPUTING, seconds=1000)
    done = threading.Event()
    pool.submit(Doing(done.set))
    assert not done.is_set()
    pool.check_deadlines()
    assert done.wait(DEADLINE)


def test_starved_job_does_not_hang(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Doing(threading.Event().set)
    job.abandoned, job.cpu_clock = True, 1
    for used_s, hangs in ((0.0, True), (HANGS_S / 2, True), (0.002, False), (0.2, False)):
        now = job.cpu_s + used_s
        monkeypatch.setattr(time, "clock_gettime", lambda _, now=now: now)
        job.check()
        assert job.hangs is hangs, used_s
    assert pool.stuck() < MAX_STUCK


def test_there_is_a_hard_limit_of_threads(pool: Workers, disk: DeadDisk) -> None:
    jobs = [Doing(disk.hang, 1000, f"test/{number}") for number in range(2 * MAX_THREADS)]
    for job in jobs:
        pool.submit(job)
    pool.check_deadlines()
    assert pool._threads <= MAX_THREADS  # noqa: SLF001
    disk.back.set()


@pytest.fixture
def _all_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls that hang count as calls that compute, so that others wait."""
    monkeypatch.setattr(module, "WAITS_S", -1)


@pytest.mark.usefixtures("_all_compute")
def test_job_that_waits_past_its_deadline_is_answered_and_never_runs(
    pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    begun(pool, disk, MAX_COMPUTING, seconds=1000)
    ran = threading.Event()
    job = Doing(ran.set, seconds=5)
    pool.submit(job)
    for passed, expired in (4.9, 0), (0.2, 1), (10, 1):
        clock.now += passed
        pool.check_deadlines()
        assert job.expired == expired
    disk.back.set()
    assert not ran.is_set()


@pytest.mark.usefixtures("_all_compute")
def test_call_that_waited_in_vain_says_so(
    folder: Path, pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    talk = Talk(folder, pool, dead=disk.run)
    uids = range(1, MAX_COMPUTING + 1)
    talk.send(*(f"(call {uid} test/dead (nil (:deadline-ms 90000)))" for uid in uids))
    disk.has(MAX_COMPUTING)
    talk.send("(call 90 test/dead (nil (:deadline-ms 2000)))", "(call 91 test/dead ())")
    talk.send("(call 92 cancel (91))")
    assert talk.answers(1)[92] is True
    clock.now += 2.1
    pool.check_deadlines()
    answers = talk.answers(2)
    assert answers[90][":error"][":code"] == "DEADLINE_EXCEEDED"
    assert "waited 2000 ms behind other calls" in answers[90][":text"]
    assert answers[91][":error"][":code"] == "CANCELLED"


def test_job_without_a_thread_runs_when_the_system_has_one(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        pool.submit(Doing(done.set))
        pool.check_deadlines()
        assert not done.is_set()
    pool.check_deadlines()
    assert done.wait(DEADLINE)
    again = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        pool.submit(Doing(again.set))  # one thread is enough
    assert again.wait(DEADLINE)


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


# ---------------------------------------------------------------------------- at work


@dataclass
class Toil:
    """A job that computes until the test ends it."""

    worked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    enough: threading.Event = field(default_factory=threading.Event)

    def go_on(self) -> None:
        last = time.thread_time()
        while not self.enough.is_set():
            if time.thread_time() > last + max(50 * HANGS_S, WAITS_S):
                last = time.thread_time()
                self.worked.release()

    def run(self, _: Nothing, __: Context) -> Result:
        self.go_on()
        return Result(text="too late", data={})

    def has_worked(self) -> None:
        """Wait until it has used some of the processor's time from now on."""
        while self.worked.acquire(blocking=False):
            pass
        for _ in range(2):
            assert self.worked.acquire(timeout=DEADLINE)


@pytest.fixture
def toils() -> Iterator[list[Toil]]:
    toils = [Toil() for _ in range(MAX_STUCK)]
    yield toils
    for toil in toils:
        toil.enough.set()


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="needs pthread_getcpuclockid"
)
def test_jobs_that_only_take_too_long_are_abandoned_and_turn_nobody_away(
    pool: Workers, clock: Clock, toils: list[Toil]
) -> None:
    jobs = [Doing(toil.go_on) for toil in toils]
    for job in jobs:
        pool.submit(job)
    pool.check_deadlines()
    for toil in toils:
        toil.has_worked()
    clock.now += 100
    pool.check_deadlines()
    assert [(job.slow, job.ends) for job in jobs] == [(1, [0])] * MAX_STUCK
    assert pool.stuck() < MAX_STUCK
    done = threading.Event()
    pool.submit(Doing(done.set))
    assert done.wait(DEADLINE)


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="needs pthread_getcpuclockid"
)
def test_job_that_stops_computing_and_hangs_counts_as_stuck(
    pool: Workers, clock: Clock, toils: list[Toil], disk: DeadDisk
) -> None:
    def work_and_hang() -> None:
        toils[0].go_on()
        disk.hang()

    pool.submit(Doing(work_and_hang))
    pool.check_deadlines()
    toils[0].has_worked()
    clock.now += 100
    pool.check_deadlines()
    assert pool.stuck() < 1
    toils[0].enough.set()
    disk.has(1)
    pool.check_deadlines()  # it has worked since the last check
    pool.check_deadlines()
    assert pool.stuck() == 1


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="needs pthread_getcpuclockid"
)
def test_call_that_takes_too_long_does_not_blame_a_disk(
    folder: Path, pool: Workers, clock: Clock, toils: list[Toil]
) -> None:
    talk = Talk(folder, pool, toil=toils[0].run)
    talk.send("(call 1 test/toil (nil (:deadline-ms 2000)))")
    pool.check_deadlines()
    toils[0].has_worked()
    clock.now += 100
    pool.check_deadlines()
    error = talk.answers(1)[1][":error"]
    assert error[":code"] == "DEADLINE_EXCEEDED"
    assert error[":message"].startswith("The call took too long and was abandoned; ask for less")
    assert ":server-stuck" not in error


def test_there_are_so_many_threads_at_most_and_then_a_job_waits(
    pool: Workers, clock: Clock, toils: list[Toil], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_THREADS", MAX_STUCK)
    monkeypatch.setattr(module, "HANGS_S", -1)  # all of them work
    for toil in toils:
        pool.submit(Doing(toil.go_on))
    for toil in toils:
        toil.has_worked()
    clock.now += 100
    pool.check_deadlines()
    job, done = Doing(threading.Event().set), threading.Event()
    pool.submit(job)
    pool.submit(Doing(done.set, seconds=20))
    clock.now += 11
    pool.check_deadlines()
    assert job.expired == 1
    assert pool.stuck() < MAX_STUCK
    toils[0].enough.set()
    assert done.wait(DEADLINE)


# ---------------------------------------------------------------------------- with a connection


class Talk:
    """A connection whose workers are watched when the test says so."""

    def __init__(self, folder: Path, pool: Workers, **runs: Any) -> None:  # noqa: ANN401
        self.sent: SimpleQueue[bytes] = SimpleQueue()
        server = server_at(folder, registry_of(**runs))
        self.connection = Connection(server, self.sent.put, pool)

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.connection.receive(frame(body.encode()))

    def answers(self, count: int) -> dict[int, Any]:
        """Return the values of the next `count` answers by uid."""
        return {
            uid: value
            for _, uid, value in (parsed(self.sent.get(timeout=DEADLINE)[6:]) for _ in range(count))
        }


@pytest.mark.check("E10")
def test_call_to_a_dead_file_system_is_answered_at_its_deadline(
    folder: Path, pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    talk = Talk(folder, pool, dead=disk.run, fine=saying("fine"))
    talk.send("(call 1 test/dead (nil (:deadline-ms 2000)))")
    disk.has(1)
    pool.check_deadlines()  # until here the threads have worked
    clock.now += 2 + GRACE_S + 0.1
    pool.check_deadlines()
    value = talk.answers(1)[1]
    assert value[":error"][":code"] == "DEADLINE_EXCEEDED"
    assert value[":error"][":stuck-workers"] == 1
    assert ":server-stuck" not in value[":error"]
    talk.send("(call 2 test/fine ())")
    assert talk.answers(1)[2][":text"] == "fine"
    disk.back.set()
    talk.send("(call 3 test/fine ())")
    assert talk.answers(1)[3][":text"] == "fine"
    assert talk.sent.empty(), "the first call was answered twice"


def test_client_is_asked_to_move_when_too_many_workers_are_stuck(
    folder: Path, pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    talk = Talk(folder, pool, dead=disk.run, fine=saying("fine"))
    uids = range(1, MAX_STUCK + 1)
    talk.send(*(f"(call {uid} test/dead ())" for uid in uids))
    disk.has(MAX_STUCK)
    pool.check_deadlines()  # until here the threads have worked
    clock.now += 1000
    pool.check_deadlines()
    errors = [value[":error"] for value in talk.answers(MAX_STUCK).values()]
    assert [error[":code"] for error in errors] == ["DEADLINE_EXCEEDED"] * MAX_STUCK
    assert [":server-stuck" in error for error in errors].count(True) == 1
    talk.send("(call 9 test/fine ())", "(call 10 ping ())")
    last = talk.answers(2)
    assert last[9][":error"][":code"] == "SERVER_STUCK"
    assert last[9][":error"][":server-stuck"] is True
    assert "start a new one" in last[9][":text"]
    assert last[10] is True


def test_cancelled_call_that_does_not_return_is_answered_soon(
    folder: Path, pool: Workers, clock: Clock, disk: DeadDisk
) -> None:
    talk = Talk(folder, pool, dead=disk.run)
    talk.send("(call 1 test/dead ())")
    disk.has(1)
    talk.send("(call 2 cancel (1))")
    assert talk.answers(1) == {2: True}
    pool.check_deadlines()
    clock.now += GRACE_S + 0.1
    pool.check_deadlines()
    assert talk.answers(1)[1][":error"][":code"] == "CANCELLED"


def test_slow_reader_is_no_stuck_file_system(folder: Path, pool: Workers, clock: Clock) -> None:
    sending, read = threading.Event(), threading.Event()
    sent: list[bytes] = []

    def send(data: bytes) -> None:
        sending.set()
        assert read.wait(DEADLINE)
        sent.append(data)

    server = server_at(folder, registry_of(fine=saying("fine")))
    connection = Connection(server, send, pool)
    connection.receive(frame(b"(call 1 test/fine ())"))
    assert sending.wait(DEADLINE)
    clock.now += 1000
    pool.check_deadlines()
    assert pool.stuck() == 0
    read.set()
    done = threading.Event()
    pool.submit(Doing(done.set))
    assert done.wait(DEADLINE)


def test_each_of_two_calls_with_one_uid_is_cancelled(
    folder: Path, pool: Workers, disk: DeadDisk
) -> None:
    contexts: SimpleQueue[Context] = SimpleQueue()

    def run(_: Nothing, context: Context) -> Result:
        contexts.put(context)
        disk.hang()
        return Result(text="through", data={})

    talk = Talk(folder, pool, slow=run, fine=saying("fine"))
    talk.send("(call 1 test/slow ())", "(call 1 test/slow ())", "(call 2 test/slow ())")
    disk.has(3)
    budgets = [contexts.get(timeout=DEADLINE).budget.cancelled for _ in range(3)]
    assert len(set(map(id, budgets))) == 3, "two calls share one cancellation"
    talk.send("(call 3 cancel (1))")
    assert talk.answers(1) == {3: True}
    assert sorted(budget.is_set() for budget in budgets) == [False, True, True]


def test_call_is_answered_where_no_thread_can_be_started(
    folder: Path, pool: Workers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(folder, pool, fine=saying("fine"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        talk.send("(call 1 test/fine ())", "(call 2 ping ())")
        assert talk.answers(1)[2] is True
        clock.now += 100
        pool.check_deadlines()
        assert talk.answers(1)[1][":error"][":code"] == "DEADLINE_EXCEEDED"
    talk.send("(call 3 test/fine ())")
    assert talk.answers(1)[3][":text"] == "fine"


@contextmanager
def quick_watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the watching thread look often, and give little grace."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "CHECK_S", 0.005)
        patch.setattr(module, "GRACE_S", 0.1)  # some checks, in which the thread does nothing
        yield


def test_the_watch_looks_by_itself(
    folder: Path, disk: DeadDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quick_watch(monkeypatch):
        talk = Talk(folder, Workers(), dead=disk.run, fine=saying("fine"))
        for uid in (1, 2):
            talk.send(f"(call {uid} test/dead (nil (:deadline-ms 1)))")
            assert talk.answers(1)[uid][":error"][":stuck-workers"] == uid
            talk.send(f"(call {uid + 10} test/fine ())")
            assert talk.answers(1)[uid + 10][":text"] == "fine"
