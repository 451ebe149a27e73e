"""Zips as people and learning platforms make them: their lists of contents, names and times."""

import contextlib
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO

DIRECTORY_LIMIT = 16 * 2**20  # bytes of a zip's list of contents
UTF8 = 0x800  # the flag of a zip's entry whose name is UTF-8
ENCRYPTED = 0x1
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,  # a password is needed, or a way of packing is unknown
    ValueError,
)


class UnusableSource(ValueError):
    """A source, or a file in it, cannot be read. The message says why, and what to try."""


def archive_in(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive in a stream, once it is clear that its list of contents has a sane size."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 2**16 - 22 - 20))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    directory = struct.unpack_from("<I", tail, at + 12)[0] if 0 <= at <= len(tail) - 22 else 0
    if directory == 0xFFFFFFFF and at >= 20 and tail[at - 20 :].startswith(b"PK\x06\x07"):
        stream.seek(struct.unpack_from("<Q", tail, at - 12)[0])  # the record of zip64
        directory = struct.unpack_from("<Q", stream.read(56).ljust(56, b"\0"), 40)[0]
    if directory > DIRECTORY_LIMIT:
        raise UnusableSource(
            f"its list of contents has more than {DIRECTORY_LIMIT // 2**20} MB: unpack it"
        )
    return zipfile.ZipFile(stream)


def unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(entry) as stream:  # a zip can lie about the size
            data = stream.read(entry.file_size + 1)
    except DAMAGED as error:
        raise UnusableSource(f"it is damaged in the zip ({error})") from error
    if len(data) != entry.file_size:
        raise UnusableSource("it is damaged in the zip (its size is not what the zip says)")
    return data


def unpacked_stream(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> BinaryIO:
    return io.BytesIO(unpacked(archive, entry))


def unpacked_within(open_it: Callable[[], BinaryIO], entry: zipfile.ZipInfo) -> bytes:
    with open_it() as stream, archive_in(stream) as archive:
        return unpacked(archive, entry)


def name_of(entry: zipfile.ZipInfo) -> str:
    """The path of an entry. macOS writes UTF-8 without saying so."""
    name = entry.filename
    if not entry.flag_bits & UTF8:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def changed_of(entry: zipfile.ZipInfo) -> float:
    year, month, day, hour, minute, second = entry.date_time
    return ((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 60.0 + second
