import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fsdpwiz.facts.disk import read_disk


def test_a_folder_yet_to_be_made_is_judged_at_its_parent(tmp_path):
    disk = read_disk(tmp_path / "runs" / "deep")
    assert disk.path == tmp_path
    assert disk.writable
    assert disk.problem is None
    assert (
        0
        < disk.free_bytes
        == pytest.approx(os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize, rel=0.2)
    )


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "runs").write_text("")
    disk = read_disk(tmp_path / "runs" / "x")
    assert (disk.writable, disk.problem) == (False, "not a folder")


def test_a_dangling_link(tmp_path):
    (tmp_path / "runs").symlink_to(tmp_path / "gone")
    assert read_disk(tmp_path / "runs").problem == "a link that leads nowhere"


def test_a_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "there")
    assert read_disk(tmp_path / "runs").writable


def test_no_permission():
    """In a child that is not root, for whom every folder is writable."""
    program = (
        "import os, sys; from pathlib import Path; from fsdpwiz.facts.disk import read_disk\n"
        "os.getuid() == 0 and os.setuid(65534)\n"
        "print(read_disk(Path(sys.argv[1]) / 'run').problem)"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        command = [sys.executable, "-c", program, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "not writable for this user"


@pytest.mark.skipif(not os.path.ismount("/sys"), reason="no read-only file system known here")
def test_a_read_only_file_system():
    if not os.statvfs("/sys").f_flag & os.ST_RDONLY:
        pytest.skip("/sys is writable here")
    assert read_disk("/sys").problem == "on a file system that is mounted read-only"
