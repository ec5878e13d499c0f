#!/bin/sh
# Makes the README's pictures from the real program: assets/pictures/make.sh PROGRAM [PICTURE…]
#
# PROGRAM is a built medrgb; without names all pictures are made anew. Needs tmux and python3, no network and no model.
# PICTURES_MODELS=FOLDER (such as ~/.cache/medrgb/models) has retrieval.svg made too, which needs an encoder, and whose
# milliseconds differ from time to time; PICTURES_PATIENCE=SECONDS is how long a screen may take (60).
set -eu
usage="usage: $0 PROGRAM [PICTURE…], such as $0 target/release/medrgb"
[ $# -ge 1 ] || { echo "$usage" >&2; exit 2; }
for tool in tmux python3; do
  command -v "$tool" >/dev/null || { echo "$0: $tool is missing; install it first" >&2; exit 1; }
done
command -v "$1" >/dev/null || { echo "$0: $1 is no program; $usage" >&2; exit 2; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/drive.py" "$@"
