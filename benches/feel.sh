#!/bin/sh
# Measures how the explorer feels, on the real program in a pseudo-terminal of 200 x 60 cells: time to the first
# frame, key press to the frame that shows it while 200 tokens a second stream in, processor use when idle, and
# memory. A local server plays the model; nothing leaves this machine.
#
# usage: benches/feel.sh [PROGRAM] [DATASET]      (target/release/medrgb, the sample benchmark)
#   PYTHON  the interpreter; its standard library is enough
#   KEYS    key presses that are timed (200)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../target/release/medrgb}
[ -x "$program" ] || { echo "$program is not there; build it with cargo build --release" >&2; exit 1; }
exec "${PYTHON:-python3}" "$here/feel.py" "$program" ${2:+"$2"}
