"""A real JupyterLab on a copy of the course, with settings and state of its own."""

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.repository import committed_files, read_committed

START_TIMEOUT = 120  # seconds; a busy machine of two cores needs about 10


def copy_course(destination: Path) -> None:
    """Write the committed notebooks of `course/` and `exercises/`, and what they show, to a folder.

    The Python modules stay behind: they are imported from where they are installed.
    """
    for path in committed_files():
        if path.startswith(("course/", "exercises/")) and not path.endswith(".py"):
            target = destination / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(read_committed(path))


@dataclass
class Lab:
    """A running JupyterLab. `root` is the folder that it shows."""

    home: Path
    root: Path
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    url: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
            "MANY_HEADS_HOME": "many-heads",
        }
        inherited = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        return inherited | {name: str(self.home / folder) for name, folder in own.items()}

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.save_setting(
            "apputils-extension:notification", {"fetchNews": "false", "checkForUpdates": False}
        )
        # Every cell is in the page, however long the notebook is.
        self.save_setting("notebook-extension:tracker", {"windowingMode": "none"})
        log = self.home / "lab.log"
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                    "--ServerApp.ip=127.0.0.1",
                    "--ServerApp.port=0",  # the system picks a free one
                    f"--IdentityProvider.token={self.token}",
                    f"--ServerApp.root_dir={self.root}",
                    "--ServerApp.terminals_enabled=False",
                    "--LabApp.expose_app_in_browser=True",
                    "--LabApp.news_url=None",
                    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                ],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            for info in (self.home / "runtime").glob("jpserver-*.json"):
                try:
                    self.url = json.loads(info.read_text())["url"]
                    self.api("api/status")
                    return
                except (OSError, ValueError, KeyError):
                    pass  # half written, or not listening yet
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-4000:]}")

    def stop(self) -> None:
        """End the server; it ends its kernels."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def api(self, path: str, method: str = "GET") -> Any:
        """Call the server's REST interface."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            body = response.read()
        return json.loads(body) if body else None

    def save_setting(self, plugin: str, values: dict[str, Any]) -> None:
        """Set a JupyterLab setting, such as `apputils-extension:themes`, for pages opened later."""
        package, name = plugin.split(":")
        file = self.home / "settings" / "@jupyterlab" / package / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))

    def forget_setting(self, plugin: str) -> None:
        """Undo `save_setting`, and what a page has set."""
        package, name = plugin.split(":")
        folder = self.home / "settings" / "@jupyterlab" / package
        (folder / f"{name}.jupyterlab-settings").unlink(missing_ok=True)

    def shut_down_kernels(self) -> None:
        """End every kernel, so that the next test starts with the machine to itself."""
        for session in self.api("api/sessions"):
            self.api(f"api/sessions/{session['id']}", method="DELETE")
