#!/bin/sh
# Times vector search beside FAISS (flat and HNSW), hnswlib and usearch's own Python binding in one alternating
# run: the same vectors, the same threads. Prints ratios; above 1 medrgb is faster.
#
# usage: benches/vectors.sh [ROWS] [DIM] [THREADS] [ROUNDS]      (100000 768 all 7)
#   PYTHON  a Python with numpy, faiss-cpu, hnswlib and usearch; else one is made in target/vectors-peers
#   EF      candidates of a search in all graphs (128)
#   ONLY    flat: the exact scans alone; usearch: they and usearch's binding
#   BENCH   the built bench; else `cargo bench --no-run --bench vectors` builds it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
if [ -z "${PYTHON:-}" ]; then
    PYTHON=target/vectors-peers/bin/python
    [ -x "$PYTHON" ] || python3 -m venv target/vectors-peers
    "$PYTHON" -m pip install --quiet numpy faiss-cpu hnswlib usearch
fi
if [ -z "${BENCH:-}" ]; then
    BENCH=$(cargo bench --no-run --bench vectors --message-format json |
        "$PYTHON" -c 'import json, sys
for line in sys.stdin:
    record = json.loads(line)
    if record.get("target", {}).get("name") == "vectors" and record.get("executable"):
        print(record["executable"])')
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" "$here/vectors_peers.py" "${1:-100000}" "${2:-768}" "${3:-$(nproc)}" "${4:-7}" "$work" "$BENCH"
