"""No file names somebody's folder or machine."""

import re

import pytest

from tests.repository import ROOT, committed_files, read_committed

HOME_FOLDER = re.compile(rb"(?<![\w.])/(?:(?:home|Users)/\w+/|root/\w)|[A-Z]:\\+Users\\+\w")
HERE = f"{ROOT}/".encode()


def names_a_folder(content: bytes) -> bool:
    """Whether text names a home folder, or the folder where the project lies just now."""
    return bool(HOME_FOLDER.search(content)) or HERE in content


def test_no_committed_file_names_a_folder_of_this_machine():
    found = [path for path in committed_files() if names_a_folder(read_committed(path))]
    assert found == []


@pytest.mark.parametrize(
    "folder",
    ["/ho" + "me/ada/course", "/Use" + "rs/ada/x", "C:\\Us" + "ers\\ada", f"{ROOT}/course"],
)
def test_a_folder_is_noticed(folder):
    assert names_a_folder(f"open('{folder}')".encode())


@pytest.mark.parametrize(
    "text", ["course/attention", "https://example.org/home/ada/", "/home", "~/x"]
)
def test_other_text_is_not(text):
    assert not names_a_folder(text.encode())
