#!/bin/sh
# How well a sweep fills a server and what it costs: a stub server that answers after 200 ms, asked 64 at a time, then
# one that streams 64 replies of 200 tokens a second each.
#
# usage: benches/sweep.sh MEDRGB [REQUESTS]
#   MEDRGB    the release binary
#   REQUESTS  of the first part, a multiple of 64 [6400]
# needs python3; on a machine with few cores the server's own share is what is left
set -eu
exec python3 "$(dirname "$0")/sweep.py" "$@"
