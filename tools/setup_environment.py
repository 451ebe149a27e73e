"""Prepare `.venv` and open JupyterLab: what `make lab` and `make test` do first.

    python3 tools/setup_environment.py install EXTRA...
    python3 tools/setup_environment.py lab [--port N] [JUPYTERLAB ARGUMENTS...]

Standard library only, and no syntax newer than Python 2.7, because this file is what tells the
owner of an old Python that it is too old.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys

OLDEST = (3, 11)
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(PROJECT, ".venv")
VENV_PYTHON = os.path.join(
    VENV, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python"))
)
STAMP = os.path.join(VENV, "many-heads-installed.json")
FIRST_NOTEBOOK = "course/00-start-here.ipynb"

LAB_EXTRAS = ["grading"]


class Trouble(Exception):
    """Its text is the one sentence that the user reads."""


def check_python():
    """Raise Trouble unless this Python can make a virtual environment for the course."""
    if sys.version_info < OLDEST:
        raise Trouble(
            "This is Python {0}.{1}, and the course needs {2}.{3} or newer: install one "
            "(https://www.python.org/downloads/) and name it, for example "
            "`make lab PYTHON=python3.12`.".format(*(tuple(sys.version_info[:2]) + OLDEST))
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise Trouble(
            "This Python comes without its venv module: on Debian or Ubuntu install it with "
            "`sudo apt-get install python3-venv`, then try again."
        )


def read_stamp():
    """Return what the last completed installation wrote, or an empty dictionary."""
    try:
        with open(STAMP) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def fingerprint():
    """Return a digest of everything that decides what an installation installs."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(PROJECT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def venv_works():
    """Tell whether `.venv` has a Python that starts, is new enough and has pip."""
    test = "import pip, sys; sys.exit(sys.version_info < {0!r})".format(OLDEST)
    try:
        return subprocess.call([VENV_PYTHON, "-c", test], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def install(extras):
    """Make `.venv` hold the project with these extras; do nothing when it already does."""
    stamp = read_stamp()
    # Scripts in .venv and the editable install name the folder: a moved one starts afresh.
    moved = stamp.get("project", PROJECT) != PROJECT
    if (
        not moved
        and stamp.get("fingerprint") == fingerprint()
        and set(extras) <= set(stamp["extras"])
        and os.path.exists(VENV_PYTHON)
    ):
        return

    if moved or not venv_works():
        check_python()
        print("Making a virtual environment in .venv ...")
        run([sys.executable, "-m", "venv", "--clear", VENV], "Making .venv")
    elif os.path.exists(STAMP):
        os.remove(STAMP)  # an installation that is interrupted from here on is not complete

    extras = sorted(set(extras) | set(stamp.get("extras", [])))
    print("Installing the course in .venv (the first time this takes some minutes) ...")
    pip = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check", "install"]
    project = ["--constraint", "constraints.txt", "--editable", ".[{0}]".format(",".join(extras))]
    run(pip + project, "Installing", "Is this machine online, and is there room on the disk?")

    record = {"project": PROJECT, "fingerprint": fingerprint(), "extras": extras}
    with open(STAMP + ".new", "w") as file:
        json.dump(record, file)
    os.replace(STAMP + ".new", STAMP)


def run(command, what, advice=""):
    """Run a command in the project's folder; raise Trouble when it fails."""
    if subprocess.call(command, cwd=PROJECT) != 0:
        raise Trouble("{0} failed, for the reason above. {1}".format(what, advice).strip())


def port_arguments(port):
    """Return JupyterLab's arguments for a fixed port, or raise Trouble when it cannot be had."""
    try:
        number = int(port)
        with socket.socket() as probe:
            if os.name != "nt":  # as the server does: a port that was just left is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", number))
    except (ValueError, OverflowError):
        raise Trouble("{0!r} is not a port: use a number up to 65535.".format(port))
    except OSError:
        raise Trouble(
            "Port {0} is in use or not permitted: choose another one, or leave PORT out and "
            "JupyterLab finds a free one.".format(port)
        )
    return ["--port={0}".format(number), "--ServerApp.port_retries=0"]


def quiet_the_news():
    """Answer JupyterLab's question about news with no, as the default of this environment."""
    # Only a default: overrides.json is JupyterLab's place for an installation's own, and what the
    # user chooses goes before it.
    folder = os.path.join(VENV, "share", "jupyter", "lab", "settings")
    path = os.path.join(folder, "overrides.json")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with open(path, "w") as file:
            json.dump({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}, file)


def lab(arguments):
    """Open JupyterLab on the first notebook; return its exit code, or become JupyterLab."""
    port = []
    if arguments[:1] == ["--port"]:
        port, arguments = port_arguments(arguments[1]), arguments[2:]
    install(LAB_EXTRAS)
    # Not as a file to open: JupyterLab would take its folder for the root, without exercises/.
    command = [VENV_PYTHON, "-m", "jupyterlab", "--LabApp.default_url=/lab/tree/" + FIRST_NOTEBOOK]
    # No question about news, and no look for updates, without touching the user's own settings.
    quiet_the_news()
    command += ["--LabApp.news_url=None"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command += ["--allow-root"]  # in a container there is often no other user
    os.chdir(PROJECT)
    if os.name == "nt":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is JupyterLab's
        return subprocess.call(command + port + arguments)
    return os.execv(command[0], command + port + arguments)


def main(arguments):
    """Run one of the two commands; return the exit code."""
    try:
        check_python()
        if arguments[:1] == ["install"]:
            install(arguments[1:])
            return 0
        if arguments[:1] == ["lab"]:
            return lab(arguments[1:])
        sys.stderr.write(__doc__)
        return 2
    except Trouble as trouble:
        sys.stderr.write("{0}\n".format(trouble))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
