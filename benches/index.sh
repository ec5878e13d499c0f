#!/bin/sh
# Builds the index of a generated corpus (BM25 and document store) with the real program and measures time and
# memory, then how fast it opens, answers and gives the text of a hit.
#
# usage: benches/index.sh MEDRGB BENCH FOLDER [CHUNKS]
#   MEDRGB  the release binary
#   BENCH   the measuring program: `cargo bench --no-run --bench index` says where it is
#   FOLDER  where the corpus and the index go, some 4 GB for a million chunks; a corpus that is there is used
#   CHUNKS  how many chunks [1000000]
# needs python3 with numpy
set -eu
medrgb=$1
bench=$2
folder=$3
chunks=${4:-1000000}
here=$(dirname "$0")

mkdir -p "$folder"
corpus=$folder/corpus-$chunks.jsonl
[ -e "$corpus" ] || python3 "$here/index_corpus.py" "$chunks" "$corpus"
rm -rf "$folder/index"
python3 - "$medrgb" "$corpus" "$folder/index" <<'END'
import os, subprocess, sys, time

medrgb, corpus, out = sys.argv[1:]
began = time.monotonic()
child = subprocess.Popen([medrgb, "index", "build", "--corpus", corpus, "--encoder", "none", "--out", out])
# What the process has for itself, apart from the pages of files that it looks at.
peak = {"RssAnon": 0, "VmRSS": 0}
while child.poll() is None:
    try:
        for line in open(f"/proc/{child.pid}/status"):
            name, _, value = line.partition(":")
            if name in peak:
                peak[name] = max(peak[name], int(value.split()[0]))
    except OSError:
        pass
    time.sleep(0.05)
seconds = time.monotonic() - began
if child.returncode:
    sys.exit(child.returncode)
size = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(out) for n in names)
print(
    f"build: {seconds:.1f} s; resident at most {peak['VmRSS'] / 1e6:.2f} GB, "
    f"of it the program's own {peak['RssAnon'] / 1e6:.2f} GB; corpus {os.path.getsize(corpus) / 1e9:.2f} GB, "
    f"index {size / 1e9:.2f} GB"
)
END
"$bench" "$folder/index"
