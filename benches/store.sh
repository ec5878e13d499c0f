#!/bin/sh
# Fills a store with generated replies and measures how quickly it is listed, summed up and scored again.
#
# usage: benches/store.sh BENCH FOLDER [RECORDS]
#   BENCH    the measuring program: `cargo bench --no-run --bench store` says where it is
#   FOLDER   where the store goes, some 2.5 GB for 100,000 records; one that is there is used
#   RECORDS  how many [100000]
# Reading goes through the system's cache of files, which filling has warmed.
set -eu
bench=$1
folder=$2
records=${3:-100000}
mkdir -p "$folder"
store=$folder/runs-$records.sqlite
[ -e "$store" ] || "$bench" fill "$store" "$records"
"$bench" measure "$store"
