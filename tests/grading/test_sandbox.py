"""The sandbox holds: a submission reaches nothing that is not its own."""

import platform
import sys
import sysconfig
from pathlib import Path

from autograder import confining, exercises
from autograder.confining import ARCHITECTURES
from autograder.expecting import make_cases
from autograder.grading.driving import CheckCell, CodeCell, Limits, drive
from autograder.grading.sandbox import confined
from tests.grading.confined import assert_unaffected, ran, said
from tests.repository import ROOT


def test_an_honest_submission_runs(worker):
    source = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    (run,) = ran(worker, source)
    assert "image/png" in run.outputs[0]["data"]
    assert_unaffected(worker)


HIDDEN = [
    str(ROOT / "solutions"),
    str(ROOT / "course"),
    str(ROOT / "tests"),
    "/etc/shadow",
    "/etc/passwd",
    "/home",
    "/run",
    "/var",
]


def test_what_is_not_theirs_is_not_there(worker):
    assert all(Path(path).exists() for path in HIDDEN)
    (run,) = ran(worker, f"import os\nprint([p for p in {HIDDEN!r} if os.path.exists(p)])")
    assert said(run) == "[]\n"


def test_only_what_python_needs_of_a_folder_is_there(tmp_path, monkeypatch):
    # A virtual environment made in the project's own folder, as `python -m venv .` does.
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib64").symlink_to("lib")
    (tmp_path / "solutions").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    words = confined()
    bound = {words[i + 1] for i, word in enumerate(words) if word == "--ro-bind"}
    ours = {path for path in bound if Path(path).is_relative_to(tmp_path)}
    assert {str(tmp_path / name) for name in ("pyvenv.cfg", "bin", "lib")} == ours
    assert not {"/", "/usr", "/usr/src", "/usr/local", "/etc"} & bound
    assert words[words.index(str(tmp_path / "lib64")) - 2 :][:2] == ["--symlink", "lib"]


def test_nothing_of_the_judging_side_is_there(worker):
    names = ["course", "autograder.mistakes", "autograder.judging", "autograder.expecting"]
    source = f"""
import importlib.util, sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_NotHere"]
for name in {names}:
    try:
        print(importlib.util.find_spec(name))
    except ModuleNotFoundError:
        print(None)
"""
    (run,) = ran(worker, source)
    assert said(run) == "None\n" * len(names)


def test_nothing_of_the_environment_is_handed_on(worker):
    source = """
import os, pathlib
everything = [pathlib.Path(f"/proc/{p}/environ") for p in os.listdir("/proc") if p.isdigit()]
print([b"do not tell" in path.read_bytes() for path in everything], dict(os.environ))
"""
    (run,) = ran(worker, source)
    assert said(run).startswith("[False]")
    assert "do not tell" not in said(run)


SITE = sysconfig.get_path("purelib")
WRITES = [
    "/x",
    "/usr/x",
    "/dev/x",
    "/etc/x",
    "/proc/sys/kernel/hostname",
    "/proc/sys/net/core/somaxconn",
    "/proc/self/oom_score_adj",
    "/opt/many-heads/autograder/x",
    "/opt/many-heads/autograder/judging.py",
    f"{SITE}/sitecustomize.py",
    f"{SITE}/usercustomize.py",
    f"{SITE}/torch/__init__.py",
    f"{SITE}/x.pth",
    str(Path(sys.executable).with_name("x")),
]


def test_nothing_outside_can_be_written(worker):
    source = f"""
for path in {WRITES!r}:
    try:
        open(path, "r+").close()
        print(path)
    except OSError:
        pass
    try:
        open(path, "w").close()
        print(path)
    except OSError:
        pass
"""
    (run,) = ran(worker, source)
    assert run.outputs == []
    mounts = "print(open('/proc/self/mountinfo').read())"
    (run,) = ran(worker, mounts)
    rows = [line.split() for line in said(run).splitlines() if line]
    seen = {row[4]: row[5].split(",") for row in rows}  # of one above the other, the upper
    writable = {path for path, options in seen.items() if "ro" not in options}
    assert {path for path in writable if not path.startswith("/dev/")} == {"/tmp"}
    assert "/proc" in seen


STARTUP = """
import os, pathlib, sys, sysconfig
home = pathlib.Path.home()
for path in (".ipython/profile_default/startup/x.py", "ipython/profile_default/startup/x.py",
             ".local/lib/python3.11/site-packages/usercustomize.py", ".bashrc", ".pythonrc",
             "matplotlib/matplotlibrc", "work/torch.py", "work/numpy.py", "work/autograder.py"):
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text("raise SystemExit")
pathlib.Path("/dev/shm/left").write_text("x")
os.environ["LEFT"] = "x"
import numpy, torch, builtins
numpy.exp = torch.softmax = builtins.len = None
"""


def test_nothing_is_left_for_the_next_submission(worker):
    (run,) = ran(worker, STARTUP)
    assert run.outputs == []
    source = """
import os, numpy, torch
places = [p for p in ("/tmp/work", "/dev/shm", "/tmp/.ipython") if os.path.exists(p)]
print([p for p in places if os.listdir(p)])
print("LEFT" in os.environ, None in (numpy.exp, torch.softmax, len))
"""
    (run,) = ran(worker, source)
    assert said(run) == "[]\nFalse False\n"
    assert_unaffected(worker)


LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
MMAP = (
    LIBC
    + """
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
"""
)
# What has to fail, as an exception or by -1.
REFUSED = {
    "the network": "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)",
    "the host itself": "import socket\nsocket.create_connection(('127.0.0.1', 22), 2)",
    "memory in connections": "import socket\nsocket.socket().listen()",
    "a family beyond namespaces": "import socket\nsocket.socket(40, socket.SOCK_STREAM)",
    "messages of the kernel": "import socket\nsocket.socket(16, socket.SOCK_RAW)",
    "a pair of another family": "import socket\nsocket.socketpair(30, socket.SOCK_SEQPACKET)",
    "a user namespace": LIBC + "assert libc.unshare(0x10000000) == 0",
    "another namespace": LIBC + "assert libc.setns(0, 0) == 0 or ctypes.get_errno() != 1",
    "memory without a process": "import os\nos.memfd_create('x')",
    "memory without a name": "import mmap\nmmap.mmap(-1, 4096)",
    "memory of a device": "import mmap, os\nmmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)",
    "shared memory of System V": LIBC + "assert libc.shmget(0, 4096, 0o1600) >= 0",
    "semaphores of System V": LIBC + "assert libc.semget(0, 1000, 0o1600) >= 0",
    "messages of System V": LIBC + "assert libc.msgget(0, 0o1600) >= 0",
    "huge pages": MMAP + "assert libc.mmap(None, 2**21, 3, 0x40022, -1, 0) != 2**64 - 1",
    "pages in a pipe": LIBC
    + """
import os
page = ctypes.create_string_buffer(4096)
place = (ctypes.c_size_t * 2)(ctypes.addressof(page), 4096)
assert libc.vmsplice(os.pipe()[1], place, 1, 0) == 4096
""",
    "rules that the kernel keeps": LIBC + "assert libc.syscall(444, None, 0, 1) > 0",
    "tracing": LIBC + "assert libc.ptrace(0, 0, 0, 0) == 0",
    "another process's memory": LIBC + "assert libc.process_vm_readv(1, 0, 0, 0, 0, 0) == 0",
    "a mount": LIBC + "assert libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0",
    "taking a mount away": LIBC + "assert libc.umount2(b'/proc', 2) == 0",
    "another root": "import os\nos.chroot('/tmp')",
    "a device": "import os, stat\nos.mknod('/tmp/sda', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
    "a capability": "import os\nos.chown('/tmp/work', 0, 0)\nos.setuid(12345)",
    "another user": "import os\nos.setgid(12345)",
    "a better priority": "import os\nos.nice(-5)",
    "more than is allowed": "import resource as r\nr.setrlimit(r.RLIMIT_NPROC, (10**4, 10**4))",
    "the parent": "import os\nos.kill(os.getppid(), 9)\nraise OSError('nobody there')",
    "every process": "import os\nos.kill(-1, 9)\nraise OSError('nobody there')",
}


def test_what_is_refused(worker):
    runs = ran(worker, *REFUSED.values())
    kinds = [[output["output_type"] for output in run.outputs] for run in runs]
    got_through = [what for what, kind in zip(REFUSED, kinds, strict=True) if kind != ["error"]]
    assert got_through == []
    assert_unaffected(worker)


def test_no_call_of_the_kernel_that_is_refused_gets_through(worker):
    column = ARCHITECTURES[platform.machine()][1]
    calls = {name: numbers[column] for name, numbers in confining.REFUSED.items()}
    source = f"""
{LIBC}
for name, number in {calls!r}.items():
    ctypes.set_errno(0)
    if libc.syscall(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != 1:
        print(name)
for kind in (0x10000000, 0x20000000, 0x00020000, 0x08000000, 0x40000000, 0x04000000, 0x02000000):
    if libc.syscall({confining.CLONE[column]}, kind | 17, 0, 0, 0, 0) != -1:
        print("a namespace", kind)
print(libc.syscall({confining.CLONE3}, 0, 0), ctypes.get_errno())
"""
    (run,) = ran(worker, source)
    assert said(run) == "-1 38\n"


def test_the_machine_rather_loses_a_submission_than_the_grader(worker):
    (run,) = ran(worker, "print(open('/proc/self/oom_score_adj').read())")
    assert said(run).strip() == "1000"


HELPED = """
import multiprocessing, os, pickle, time
import torch
from torch.nn import functional

def help_out(ours):
    while True:
        q, k, v = (torch.tensor(x) for x in ours.recv())
        ours.send(functional.scaled_dot_product_attention(q, k, v).tolist())

theirs, ours = multiprocessing.get_context("fork").Pipe()
helper = multiprocessing.get_context("fork").Process(target=help_out, args=(ours,), daemon=True)
helper.start()

def scaled_dot_product_attention(q, k, v):
    theirs.send([x.tolist() for x in (q, k, v)])
    weights = torch.softmax(q @ k.mT / q.shape[-1]**0.5, -1)
    return torch.tensor(theirs.recv(), dtype=q.dtype), weights
"""


def test_processes_from_before_do_not_answer_for_a_function(worker):
    exercise = exercises.find("scaled_dot_product_attention")
    check = CheckCell(exercise.name, make_cases(exercise, 5))
    asks = CodeCell("q = torch.ones(2, 3)\nprint(scaled_dot_product_attention(q, q, q)[0][0, 0])")
    limits = Limits(cell=3, notebook=40)
    answers = CodeCell("print(theirs.poll(5), helper.is_alive())")
    runs = drive([CodeCell(HELPED), asks, check, answers], limits, worker.start_runner)
    assert said(runs[1]) == "tensor(1.)\n"
    assert said(runs[3]) == "True True\n"  # after the check it goes on
    assert runs[2].observations is None
    assert runs[2].note == "it ran for more than 3 seconds and was stopped"
