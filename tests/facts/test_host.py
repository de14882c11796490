"""Hosts are imitated by a folder with the files of /proc and /sys that the kernel would show."""

import os

import pytest

from fsdpwiz.facts.host import read_host

GIB = 2**30
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture
def machine(tmp_path):
    def make(files):
        for name, text in {"proc/meminfo": "MemTotal:       67108864 kB\nMemFree: 1 kB\n", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def test_without_limits(machine):
    host = read_host(machine({"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": V2}))
    assert host.ram_bytes == host.memory_bytes == 64 * GIB
    assert host.cgroup_limit_bytes is None
    assert host.cores == len(os.sched_getaffinity(0))


def v2(own, limits, *, mount=V2, top="sys/fs/cgroup"):
    files = {"proc/self/cgroup": f"0::{own}\n", "proc/self/mountinfo": mount}
    return files | {f"{top}{folder}/memory.max": f"{value}\n" for folder, value in limits.items()}


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("/a/b", {"/a/b": 8 * GIB, "/a": "max"}, 8 * GIB),
        ("/a/b", {"/a/b": "max", "/a": 4 * GIB}, 4 * GIB),
        ("/a/b", {"/a/b": 16 * GIB, "/a": 4 * GIB}, 4 * GIB),
        ("/a/b", {"/a/b": "max", "/a": "max", "/other": GIB}, None),
        ("/a/b", {"/a": "nonsense"}, None),
        ("/", {"": 2 * GIB}, 2 * GIB),
        ("/../outside", {"/outside": GIB, "": 3 * GIB}, GIB),
    ],
)
def test_cgroup_v2(machine, own, limits, expected):
    host = read_host(machine(v2(own, limits)))
    assert host.cgroup_limit_bytes == expected
    assert host.memory_bytes == (expected or 64 * GIB)


def test_cgroup_v2_mounted_at_the_own_group(machine):
    mount = V2.replace("0:26 /", "0:26 /docker/abc")
    assert read_host(machine(v2("/docker/abc", {"": GIB}, mount=mount))).cgroup_limit_bytes == GIB
    assert read_host(machine(v2("/docker/abc/job", {"/job": GIB // 2}, mount=mount))).memory_bytes == GIB // 2


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"/slurm/job": 8 * GIB, "/slurm": 2**63 - 4096}, 8 * GIB),
        ({"/slurm/job": 2**63 - 4096, "/slurm": 12 * GIB, "": 2**63 - 4096}, 12 * GIB),
        ({"/slurm/job": 2**63 - 4096}, None),
    ],
)
def test_cgroup_v1(machine, limits, expected):
    files = {"proc/self/cgroup": "9:name=systemd:/\n4:memory:/slurm/job\n", "proc/self/mountinfo": V1}
    files |= {
        f"sys/fs/cgroup/memory{folder}/memory.limit_in_bytes": f"{value}\n"
        for folder, value in limits.items()
    }
    assert read_host(machine(files)).cgroup_limit_bytes == expected


@pytest.mark.parametrize(
    ("quota", "most"), [("150000 100000", 1), ("10000 100000", 1), ("max 100000", 10**6)]
)
def test_cpu_quota_v2(machine, quota, most):
    files = v2("/a", {}) | {"sys/fs/cgroup/a/cpu.max": quota}
    assert read_host(machine(files)).cores == min(len(os.sched_getaffinity(0)), most)


@pytest.mark.parametrize(("quota", "most"), [("100000", 1), ("-1", 10**6)])
def test_cpu_quota_v1(machine, quota, most):
    files = {
        "proc/self/cgroup": "2:cpu,cpuacct:/a\n",
        "proc/self/mountinfo": V1,
        "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": quota,
        "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000",
    }
    assert read_host(machine(files)).cores == min(len(os.sched_getaffinity(0)), most)


def test_unreadable_files_are_no_crash(machine):
    root = machine(
        {"proc/meminfo": "garbage", "proc/self/cgroup": "x\n::\n0::/a", "proc/self/mountinfo": "- -\n\n"}
    )
    host = read_host(root)
    assert host.memory_bytes is None
    assert host.hostname


def test_this_machine():
    host = read_host()
    assert host.memory_bytes > 100 * 2**20
    assert host.cores >= 1
