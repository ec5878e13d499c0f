#!/bin/sh
# Times `medrgb score --definition mirage` on MIRAGE's replies beside our Python implementation of the same
# rules, both over the same eight files, one process per file, and checks that both count the same.
#
# usage: benches/score.sh MEDRGB MIRAGE_FOLDER [ROUNDS]
#   MEDRGB         the release binary
#   MIRAGE_FOLDER  holds benchmark.json.gz and predictions/
set -eu
medrgb=$1
folder=$2
rounds=${3:-5}
here=$(dirname "$0")

each() { # runs "$@" once for every set and file, as SET FILE
    for set in mmlu medqa pubmedqa bioasq; do
        for run in cot medrag32; do
            "$@" "$set" "$folder/predictions/$set.gpt-3.5.$run.jsonl"
        done
    done
}
ours() {
    printf '%s ' "$1"
    "$medrgb" score --questions "$folder/benchmark.json.gz#$1" --predictions "$2" --definition mirage --json |
        python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["correct"], r["n"])'
}
plain() { "$medrgb" score --questions "$folder/benchmark.json.gz#$1" --predictions "$2" --definition mirage --json >/dev/null; }
paper() { "$medrgb" score --questions "$folder/benchmark.json.gz#$1" --predictions "$2" --json >/dev/null; }
reference() { python3 "$here/score_reference.py" "$folder/benchmark.json.gz" "$1=$2"; }
silent() { reference "$@" >/dev/null; }

if [ "$(each ours)" != "$(each reference)" ]; then
    echo "the counts differ" >&2
    exit 1
fi
seconds() { # median wall seconds of "each $1"
    i=0
    while [ "$i" -lt "$rounds" ]; do
        start=$(date +%s%N)
        each "$1"
        end=$(date +%s%N)
        echo $((end - start))
        i=$((i + 1))
    done | sort -n | awk '{t[NR] = $1} END {printf "%.3f\n", t[int((NR + 1) / 2)] / 1e9}'
}
each plain
mirage=$(seconds plain)
paper=$(seconds paper)
python=$(seconds silent)
echo "medrgb, mirage: $mirage s   medrgb, paper: $paper s   Python, mirage: $python s   (eight processes each, median of $rounds)"
awk -v a="$python" -v b="$mirage" 'BEGIN {printf "medrgb is %.1f times as fast\n", a / b}'
