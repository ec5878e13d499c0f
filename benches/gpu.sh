#!/bin/sh
# Measures the encoder on a GPU in one call of under five minutes: MedCPT's shape, articles of 296 tokens,
# CUDA and wgpu, f32 and half precision, beside PyTorch's SDPA in half precision on the same card; numerics
# against PyTorch in f32; time to the first vector cold and with kept kernels. Checkpoint and texts are made
# here, nothing is downloaded.
#
# usage: benches/gpu.sh [WORK_FOLDER] [OPTION...]
#   OPTION  passed on to gpu_peers.py: --texts 4096 --seconds 12 --only cuda:f16,wgpu:f32 --peak TFLOPS
#
# ENCODE names a built `encode_turns`; without it it is built first, which takes longer than measuring:
#   cargo build --release -p medrgb-encoder --features cuda --example encode_turns
# PYTHON names an interpreter with numpy and a CUDA build of torch (default: python3); without torch the
# script still measures ours and compares it with our own vectors on the processor.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$here/../target/bench-gpu}
[ $# -ge 1 ] && shift
mkdir -p "$work"
if [ -z "${ENCODE:-}" ]; then
    (cd "$here/.." && cargo build --quiet --release -p medrgb-encoder --features cuda --example encode_turns)
    ENCODE=${CARGO_TARGET_DIR:-$here/../target}/release/examples/encode_turns
fi
exec "${PYTHON:-python3}" "$here/gpu_peers.py" --ours "$ENCODE" --work "$work" "$@"
