#!/usr/bin/env python3
"""Makes C++ of the Python package that service jobs run, so that a controller can send it to nodes that have none of ours.

Usage: tools/embed_services.py PYTHON_FOLDER OUT.cc
The bytes are a zip file that python3 runs; equal sources make equal bytes.
"""
import io
import pathlib
import sys
import zipfile

MAIN = "import sys\nfrom muster.services.__main__ import main\nsys.exit(main())\n"
WHEN = (1980, 1, 1, 0, 0, 0)


def archive_of(folder):
    files = {"__main__.py": MAIN}
    for package in (".", "core", "services"):
        for path in sorted((folder / "muster" / package).glob("*.py")):
            files[path.relative_to(folder).as_posix()] = path.read_text()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, WHEN), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def source_of(data):
    rows = (", ".join(str(byte) for byte in data[at:at + 32]) for at in range(0, len(data), 32))
    return ("// Made by tools/embed_services.py.\n#include \"trials/service_script.h\"\n\nnamespace muster::detail {\n\n"
            "const unsigned char kServiceArchive[] = {\n" + ",\n".join(rows) + "};\n"
            "const std::size_t kServiceArchiveSize = sizeof kServiceArchive;\n\n}  // namespace muster::detail\n")


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(source_of(archive_of(folder)))


if __name__ == "__main__":
    main()
