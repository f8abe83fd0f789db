# Sourced on a bare machine with a GPU, in the checkout: puts the package and what was carried in .carry on PYTHONPATH.
# Nothing is fetched. State is kept in /tmp, so a later call on the same machine only adds to it.
#
# .carry may hold NAME.tar.xz (unpacked into the site folder) and parts of warp.so.xz (joined once all are there).
site=${PTXSPEC_SITE:-/tmp/site}
mkdir -p "$site" /tmp/carried
export PTXSPEC_PYTHON=${PTXSPEC_PYTHON:-$(python3 -c 'import sys; print(sys.executable)')}
export PTXSPEC_PEERS=$PTXSPEC_PYTHON PTXSPEC_CACHE=off PYTHONUNBUFFERED=1
[ -d .carry ] && cp -f .carry/* /tmp/carried/
"$PTXSPEC_PYTHON" - "$site" <<'PYTHON'
import lzma, pathlib, shutil, sys, tarfile, time

site = pathlib.Path(sys.argv[1])
carried = pathlib.Path("/tmp/carried")
for archive in sorted(carried.glob("*.tar.xz")):
    done = carried / f"{archive.name}.{archive.stat().st_size}.done"
    if done.exists():
        continue
    begun = time.time()
    with tarfile.open(archive) as packed:
        packed.extractall(site, filter="tar")
    done.touch()
    print(f"unpacked {archive.name} in {time.time() - begun:.0f} s")
parts = sorted(carried.glob("warp.so.xz.part*"))
library = site / "warp" / "bin" / "warp.so"
if len(parts) == 2 and not library.exists():
    library.parent.mkdir(parents=True, exist_ok=True)
    decoder = lzma.LZMADecompressor()
    with library.open("wb") as out:
        for part in parts:
            out.write(decoder.decompress(part.read_bytes()))
    print(f"joined warp.so, {library.stat().st_size >> 20} MiB")
# The checkout's three folders as one package.
package = site / "ptxspec"
shutil.rmtree(package, ignore_errors=True)
shutil.copytree("ptxspec", package, ignore=shutil.ignore_patterns("__pycache__"))
for name in ("backend", "specs"):
    shutil.copytree(name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
PYTHON
export PYTHONPATH=$site
scripts/native "$site/ptxspec/backend/native" || echo "the extension was not built: launches take the Python path"
"$PTXSPEC_PYTHON" -P -c 'import ptxspec.backend, z3; print("ptxspec", ptxspec.__version__, "z3", z3.get_version_string())'
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader || true
