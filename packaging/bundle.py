"""Writes archives whose bytes depend on their contents alone: sorted names, no owner, one time, no file name in the gzip header."""

import gzip
import io
import tarfile
import time
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Entry:
    name: str
    data: bytes = b""
    mode: int = 0o644
    owner: int = 0
    is_folder: bool = False


def tar(entries, epoch):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in sorted(entries):
            info = tarfile.TarInfo(entry.name)
            info.type = tarfile.DIRTYPE if entry.is_folder else tarfile.REGTYPE
            info.size, info.mode, info.mtime = len(entry.data), entry.mode, epoch
            info.uid = info.gid = entry.owner
            archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def compressed(data, level):
    return gzip.compress(data, compresslevel=level, mtime=0)


def tar_gz(entries, source):
    return compressed(tar(entries, source.epoch), source.level)


def zipped(entries, source):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=source.level) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time.gmtime(source.epoch)[:6])
            info.create_system = 3
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data, compresslevel=source.level)
    return buffer.getvalue()
