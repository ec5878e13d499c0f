#!/bin/sh
# Measures encoding on the processor beside sentence-transformers (torch) and ONNX Runtime, both in f32:
# articles of SciFact with MiniLM, and fewer of them with a random checkpoint of MedCPT's shape, which the
# script makes. The three take turns on the same batches; ratios of medians are printed.
#
# usage: benches/encode.sh SCIFACT_CORPUS MINILM_FOLDER [WORK_FOLDER] [OPTION...]
#   SCIFACT_CORPUS  corpus.jsonl of BEIR's SciFact, also .gz
#   MINILM_FOLDER   all-MiniLM-L6-v2, such as `medrgb models path minilm-l6` prints
#   WORK_FOLDER     keeps checkpoints, exported models and a Python environment (default: target/bench-encode)
#   OPTION          passed on to encode_peers.py: --minilm 2000 --medcpt 300 --rounds 12 --threads 2
#
# PYTHON names an interpreter that has torch, sentence-transformers, transformers, onnx, onnxscript and
# onnxruntime; without it they are installed into WORK_FOLDER. ENCODE names a built `encode_turns`.
set -eu
corpus=$1
minilm=$2
here=$(cd "$(dirname "$0")" && pwd)
work=${3:-$here/../target/bench-encode}
if [ $# -ge 3 ]; then shift 3; else shift 2; fi
mkdir -p "$work"

if [ -z "${PYTHON:-}" ]; then
    PYTHON=$work/venv/bin/python
    if [ ! -x "$PYTHON" ]; then
        python3 -m venv "$work/venv"
        "$PYTHON" -m pip install --quiet \
            torch transformers sentence-transformers onnx onnxscript onnxruntime
    fi
fi
if [ -z "${ENCODE:-}" ]; then
    # The processor alone: no GPU code is compiled.
    (cd "$here/.." && CARGO_TARGET_DIR=$work/target cargo build --quiet --release -p medrgb-encoder \
        --no-default-features --example encode_turns)
    ENCODE=$work/target/release/examples/encode_turns
fi
exec "$PYTHON" "$here/encode_peers.py" --ours "$ENCODE" --corpus "$corpus" --minilm-folder "$minilm" \
    --work "$work" "$@"
