"""What confines one submission inside the sandbox: namespaces, limits, and a filter of calls.

Linux only, and used by `autograder.working` alone: the warm worker, already inside
bubblewrap, forks one child for each submission, and the child calls `confine` before the
first line of student code. From then on nothing that it does can reach the worker, another
submission, or outlive the child.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
CLONE_NEWUSER, CLONE_ANY_NAMESPACE = 0x10000000, 0x7E020080
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITIES_VERSION = 0x20080522
EPERM, ENOSYS = 1, 38

# How many threads of a submission may want a processor at a time: with fifty of them, whoever is
# graded beside it would not get done in time.
BUSY = 8
# How many locks of files it may hold: they lie in the kernel's memory, which no limit counts.
LOCKS = 10_000

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Confinement:
    """What one submission may use.

    address_space, file_size, folder_size: bytes, of memory mapped by one process, of one
    file, and of all files in its folder for temporary files. processes, open_files: numbers.
    uid: the user it becomes, or None to stay who it is (in a user namespace of its own).
    kept: folders under /tmp that stay readable, and where each can be found besides.
    hidden: folders that are empty from now on.
    """

    address_space: int
    file_size: int
    folder_size: int
    processes: int
    open_files: int
    uid: int | None
    kept: Mapping[str, str]
    hidden: tuple[str, ...] = ()


def fork_into_namespace(home: int) -> int:
    """Fork a child that is the first process of a new pid namespace; like `os.fork`.

    home: a descriptor of /proc/self/ns/pid. The caller stays in its own namespace, and sees
    the child's processes from there.
    """
    _call(_libc.unshare, CLONE_NEWPID)
    try:
        return os.fork()
    finally:
        if os.getpid() != 1:
            _call(_libc.setns, home, CLONE_NEWPID)


def confine(limits: Confinement) -> None:
    """Give up, for good, everything that student code does not need. Raises OSError.

    Fresh /tmp, /dev/shm and /proc; no capability; limits on what one process may use; no
    system call that sees other processes' memory, mounts, or the kernel's rarer corners, or
    takes memory that no process is charged for.
    """
    os.setsid()  # without it, kill(getppid()) reaches beyond the namespace
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as first:  # noqa: PTH123
        first.write("1000")  # should the machine run out of memory, this goes, and not the grader
    _call(_libc.unshare, CLONE_NEWNS | CLONE_NEWIPC)
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    # Read-only: settings of the kernel that root may write in a namespace outlive a submission.
    _mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # Terminals are counted for the whole machine, unless they are of an instance of one's own.
    terminals = "newinstance,ptmxmode=0666,mode=620,max=16"
    _mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals)
    for folder in ("/tmp", "/dev/shm"):
        options = f"size={limits.folder_size},nr_inodes=20000,mode=1777"
        _mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)
    for folder, source in limits.kept.items():
        os.makedirs(folder, 0o755)  # noqa: PTH103 (pathlib gives parents other permissions)
        _mount(source, folder, None, MS_BIND | MS_REC)
    for folder in limits.hidden:
        _mount("tmpfs", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV)
    if limits.uid is not None:
        os.setgroups([])
        os.setresgid(limits.uid, limits.uid, limits.uid)
    _limit(limits)
    _drop_capabilities(limits.uid)
    _filter_calls()


def _limit(limits: Confinement) -> None:
    for kind, most in {
        resource.RLIMIT_AS: limits.address_space,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 1000,  # shared with everything that the user runs
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
    }.items():
        resource.setrlimit(kind, (most, most))


def _drop_capabilities(uid: int | None) -> None:
    _call(_libc.prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one that this kernel knows
    if uid is not None:
        os.setresuid(uid, uid, uid)
    header = struct.pack("Ii", CAPABILITIES_VERSION, 0)
    _call(_libc.capset, header, bytes(24))
    _call(_libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Another user owns what /proc says of this process now, unless it is made plain again.
    _call(_libc.prctl, PR_SET_DUMPABLE, 1, 0, 0, 0)


# The numbers of calls that are refused: x86-64, aarch64. The newer ones are alike everywhere.
REFUSED = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # Memory that belongs to no process, so that nobody could be stopped for holding it.
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "io_setup": (206, 0),
    "inotify_init": (253, 26),  # and of what a user may watch, on the whole machine
    "inotify_init1": (294, 26),
    "vmsplice": (278, 75),  # pages in a pipe, huge ones too, belong to nobody
    "landlock_create_ruleset": (444, 444),  # rules that the kernel keeps, each call some more
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "personality": (135, 92),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
}
CLONE, CLONE3, SOCKET, SOCKETPAIR, MMAP = (56, 220), 435, (41, 198), (53, 199), (9, 222)
AF_UNIX = 1  # the one family that works without a network, and whose memory can be counted
# Nameless shared memory stays when nobody maps it any more, and huge pages are in no count.
MAP_SHARED_ANONYMOUS, MAP_HUGETLB = 0x21, 0x40000
ARCHITECTURES: Mapping[str, tuple[int, int]] = {  # its mark for the kernel, its column above
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
}

# Instructions of the classic packet filter, and where in its data things stand.
LOAD, EQUAL, ANY_BIT, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, FOURTH_ARGUMENT = 0, 4, 16, 40
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def _filter_calls() -> None:
    """Refuse the calls above from here on. Raises OSError on a machine that is not known."""
    if platform.machine() not in ARCHITECTURES:
        raise OSError(f"No list of system calls for {platform.machine()}.")
    mark, column = ARCHITECTURES[platform.machine()]
    steps: list[tuple[int, int, int, int]] = []

    def refuse_if(test: int, value: int, outcome: int = ERROR | EPERM) -> None:
        steps.extend([(test, 0, 1, value), (RETURN, 0, 0, outcome)])

    steps += [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, mark), (RETURN, 0, 0, KILL)]
    steps.append((LOAD, 0, 0, NUMBER))
    refuse_if(AT_LEAST, 0x40000000)  # the numbers of x32, another name for the same calls
    for numbers in REFUSED.values():
        refuse_if(EQUAL, numbers[column])
    refuse_if(EQUAL, CLONE3, ERROR | ENOSYS)  # its flags cannot be read here; libc falls back

    def about(number: int, argument: int, tests: Sequence[tuple[int, int]]) -> None:
        """For one call: refuse it where a test of an argument holds, allow it else."""
        inner = [(LOAD, 0, 0, argument)]
        for test, value in tests:
            if test == AND:
                inner.append((AND, 0, 0, value))
            else:
                inner += [(test, 0, 1, value), (RETURN, 0, 0, ERROR | EPERM)]
        inner.append((RETURN, 0, 0, ALLOW))
        steps.extend([(EQUAL, 0, len(inner), number), *inner])

    about(CLONE[column], FIRST_ARGUMENT, [(ANY_BIT, CLONE_ANY_NAMESPACE)])
    shared = [(AND, MAP_SHARED_ANONYMOUS), (EQUAL, MAP_SHARED_ANONYMOUS)]
    about(MMAP[column], FOURTH_ARGUMENT, [(ANY_BIT, MAP_HUGETLB), *shared])
    for call in (SOCKET, SOCKETPAIR):
        others = [(AT_LEAST, AF_UNIX + 1), (EQUAL, 0)]
        about(call[column], FIRST_ARGUMENT, others)
    steps.append((RETURN, 0, 0, ALLOW))
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
    _call(_libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str = ""
) -> None:
    def text(word: str | None) -> bytes | None:
        return None if word is None else word.encode()

    arguments = text(source), text(target), text(kind), ctypes.c_ulong(flags), text(options)
    _call(_libc.mount, *arguments)


def _call(function: Any, *arguments: object) -> None:
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function.__name__}: {os.strerror(code)}")
