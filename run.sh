#!/usr/bin/env bash
# Sets up, builds, and opens the MedRGB explorer; or runs the tests.
#
#   ./run.sh [PATH]       set up, build, fetch the models, open the explorer (PATH: a dataset folder)
#   ./run.sh test [ARGS]  set up and run the tests (ARGS go to `cargo test`)
#   ./run.sh tools        only install what the build needs (cmake, libclang)
#
# Needs Rust, a C++ compiler, and python3 with pip. MEDRGB_PRIVATE_TOOLS=1 never asks the system's package
# manager; MEDRGB_SKIP_MODELS=1 fetches no models.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# Build tools that the system's package manager could not give us live here (ignored by git).
private="$PWD/.cache/build-tools"

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
die() { say "run.sh: $*"; exit 1; }

have_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] && return 0
  [ "$(uname)" = Darwin ] && [ -e /Library/Developer/CommandLineTools/usr/lib/libclang.dylib ] && return 0
  local dir
  for dir in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib /opt/homebrew/opt/llvm/lib /usr/local/opt/llvm/lib; do
    compgen -G "$dir/libclang.so*" >/dev/null && return 0
    compgen -G "$dir/libclang-[0-9]*.so*" >/dev/null && return 0
    [ -e "$dir/libclang.dylib" ] && return 0
  done
  return 1
}

# As root, or through sudo where it asks no password; fails otherwise.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

from_system() {
  [ -z "${MEDRGB_PRIVATE_TOOLS:-}" ] || return 1
  if have apt-get; then
    as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq cmake libclang-dev
  elif have dnf; then as_root dnf install -y -q cmake clang-devel
  elif have pacman; then as_root pacman -S --noconfirm --needed cmake clang
  elif have zypper; then as_root zypper --non-interactive install cmake clang-devel
  elif have apk; then as_root apk add cmake clang-dev
  elif have brew; then brew install cmake llvm
  else return 1
  fi >&2
}

# The wheels of cmake and libclang hold ready binaries; nothing is installed outside this folder.
from_wheels() {
  have python3 || die "python3 with pip is needed to fetch build tools; install it, or install cmake and libclang yourself"
  if [ ! -x "$private/cmake/data/bin/cmake" ] || [ ! -d "$private/clang/native" ]; then
    say "fetching cmake and libclang as Python wheels into .cache/build-tools …"
    rm -rf "$private"
    python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --target "$private" cmake libclang >&2 \
      || die "cmake and libclang could not be fetched; install both with your package manager, then run this again"
  fi
}

use_wheels() {
  have cmake || export PATH="$private/cmake/data/bin:$PATH"
  if ! have_libclang; then
    export LIBCLANG_PATH="$private/clang/native"
    # The wheel has the library but not clang's own headers; the compiler's serve as well.
    local headers
    headers="$("${CC:-cc}" -print-file-name=include 2>/dev/null || true)"
    [ -d "$headers" ] && export BINDGEN_EXTRA_CLANG_ARGS="${BINDGEN_EXTRA_CLANG_ARGS:-} -I$headers"
  fi
  return 0
}

# llama.cpp reads prompts faster with the vector instructions of this machine's processor, which a build for all
# processors must do without. Nothing else needs it: our own loops choose at run time.
for_this_processor() {
  [ -z "${MEDRGB_PORTABLE:-}" ] || return 0
  local flag
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) flag=-march=native ;;
    Linux-aarch64) flag=-mcpu=native ;;
    *) return 0 ;;
  esac
  export CMAKE_C_FLAGS="${CMAKE_C_FLAGS:-$flag}" CMAKE_CXX_FLAGS="${CMAKE_CXX_FLAGS:-$flag}"
}

tools() {
  for_this_processor
  have cargo || die "Rust is needed: see https://rustup.rs"
  have c++ || have g++ || have clang++ || die "a C++ compiler is needed (for example: apt-get install g++, or xcode-select --install)"
  if [ -d "$private" ]; then use_wheels; fi
  if have cmake && have_libclang; then return 0; fi
  say "installing what the build needs: cmake and libclang …"
  if from_system && have cmake && have_libclang; then return 0; fi
  from_wheels
  use_wheels
}

open() {
  tools
  if [ ! -x target/release/medrgb ]; then
    say "building in release mode: plan for half an hour on two cores the first time, a minute or two afterwards …"
  fi
  cargo build --release --locked
  if [ -z "${MEDRGB_SKIP_MODELS:-}" ]; then
    target/release/medrgb models pull --default \
      || say "not every model could be fetched; the explorer opens all the same and says what is missing"
  fi
  exec target/release/medrgb "$@"
}

case "${1:-}" in
  test) shift; tools; exec cargo test --locked --workspace "$@" ;;
  tools) tools ;;
  -h|--help|help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" ;;
  *) open "$@" ;;
esac
