import subprocess
import sys

from fsdpwiz.facts.software import DISTRIBUTIONS, read_software


def test_versions_without_importing():
    program = (
        "import sys; from fsdpwiz.facts.software import read_software; found = read_software().versions\n"
        "heavy = {'torch', 'transformers', 'numpy', 'datasets', 'huggingface_hub'} & set(sys.modules)\n"
        "print(sorted(heavy), found.get('huggingface-hub') is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[] True"


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr("fsdpwiz.facts.software.DISTRIBUTIONS", (*DISTRIBUTIONS, "no-such-distribution"))
    software = read_software()
    assert "no-such-distribution" not in software.versions
    assert software.python == ".".join(str(part) for part in sys.version_info[:3])


def test_broken_metadata_is_no_crash(tmp_path, monkeypatch):
    (tmp_path / "torch-9.9.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert "torch" not in read_software().versions
