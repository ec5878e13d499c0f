"""Times our encoder on a GPU beside PyTorch, on a random checkpoint of MedCPT's shape. Run it through gpu.sh.

Every variant of ours is a process of its own: it is started twice (cold, then with the kernels that the first
start kept), encodes the same texts as PyTorch, and its vectors are compared with PyTorch's in f32: smallest
cosine, and how much of the ten nearest of each text (by inner product) is the same. A variant that fails or
takes too long is reported and passed over.
"""

import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import threading
import time

import numpy

HIDDEN, LAYERS, HEADS, INNER, VOCAB, POSITIONS = 768, 12, 12, 3072, 30522, 512
TOKENS = 296
COMPARED = 512


def make_checkpoint(folder):
    """BERT base with random weights that calls itself MedCPT, written as safetensors by hand."""
    os.makedirs(folder, exist_ok=True)
    config = {
        "model_type": "bert", "architectures": ["BertModel"], "_name_or_path": "random/MedCPT-Article-Encoder",
        "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "vocab_size": VOCAB, "layer_norm_eps": 1e-12,
    }
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + [f"w{number}" for number in range(VOCAB - len(special))]
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words) + "\n")
    rng = numpy.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (VOCAB, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}"
        for name, outputs, inputs in (
            ("attention.self.query", HIDDEN, HIDDEN), ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN), ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN), ("output.dense", HIDDEN, INNER),
        ):
            shapes[f"{base}.{name}.weight"] = (outputs, inputs)
            shapes[f"{base}.{name}.bias"] = (outputs,)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{base}.{norm}.weight"] = shapes[f"{base}.{norm}.bias"] = (HIDDEN,)
    tensors, header, at = {}, {}, 0
    for name, shape in shapes.items():
        spread = 0.1 if "LayerNorm" in name else 0.05
        numbers = rng.normal(0, spread, shape).astype("<f4")
        if name.endswith("LayerNorm.weight"):
            numbers += 1
        tensors[name] = numbers
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + numbers.nbytes]}
        at += numbers.nbytes
    head = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for numbers in tensors.values():
            file.write(numbers.tobytes())
    return tensors


def make_texts(path, count):
    """Texts of exactly TOKENS word pieces; gives the ids and segments as well."""
    rng = numpy.random.default_rng(1)
    title, content = 20, TOKENS - 23
    words = rng.integers(5, VOCAB, (count, title + content))
    with open(path, "w", encoding="utf-8") as file:
        for row in words:
            text = [f"w{word - 5}" for word in row]
            print(json.dumps({"title": " ".join(text[:title]), "content": " ".join(text[title:])}), file=file)
    cls, sep = numpy.full((count, 1), 2), numpy.full((count, 1), 3)
    ids = numpy.concatenate([cls, words[:, :title], sep, words[:, title:], sep], axis=1)
    types = (numpy.arange(TOKENS) >= title + 2).astype(int)
    return ids, types


class Peer:
    """BERT in PyTorch with scaled_dot_product_attention."""

    def __init__(self, torch, tensors, dtype):
        self.torch, self.f = torch, torch.nn.functional
        self.weights = {name: torch.from_numpy(n).to("cuda", dtype) for name, n in tensors.items()}
        for layer in range(LAYERS):
            base = f"encoder.layer.{layer}.attention.self"
            for kind in ("weight", "bias"):
                parts = [self.weights.pop(f"{base}.{part}.{kind}") for part in ("query", "key", "value")]
                self.weights[f"{base}.qkv.{kind}"] = torch.cat(parts)

    def linear(self, x, name):
        return self.f.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, x, name):
        return self.f.layer_norm(x, (HIDDEN,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-12)

    def forward(self, ids, types):
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][types]
        x = self.norm(x + w["embeddings.position_embeddings.weight"][: ids.shape[1]], "embeddings.LayerNorm")
        n, length = ids.shape
        for layer in range(LAYERS):
            base = f"encoder.layer.{layer}"
            qkv = self.linear(x, f"{base}.attention.self.qkv").view(n, length, 3, HEADS, HIDDEN // HEADS)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            mixed = self.f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, HIDDEN)
            mixed = self.linear(mixed, f"{base}.attention.output.dense")
            x = self.norm(mixed + x, f"{base}.attention.output.LayerNorm")
            inner = self.f.gelu(self.linear(x, f"{base}.intermediate.dense"))
            x = self.norm(self.linear(inner, f"{base}.output.dense") + x, f"{base}.output.LayerNorm")
        return x[:, 0].float()

    def encode(self, ids, types, batch):
        torch = self.torch
        types = torch.from_numpy(types).cuda()
        with torch.inference_mode():
            rows = [
                self.forward(torch.from_numpy(ids[start : start + batch]).cuda(), types)
                for start in range(0, len(ids), batch)
            ]
            return torch.cat(rows).cpu().numpy()


class Ours:
    """A running `encode_turns`."""

    def __init__(self, command, limit):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(limit, self.process.kill)
        self.timer.start()
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.timer.cancel()
            raise RuntimeError(f"ended early or was stopped after its time ({self.process.wait()})")
        return json.loads(line)

    def turn(self, which, out=None):
        print(json.dumps({"which": list(which), "out": out}), file=self.process.stdin, flush=True)
        return self.answer()["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.timer.cancel()


def flops(tokens):
    """Of one text: two per weight and token, and attention; the last layer counted whole."""
    linear = LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER)
    return 2 * tokens * linear + LAYERS * 4 * tokens * tokens * HIDDEN


def nearest(vectors):
    scores = vectors @ vectors.T
    return numpy.argsort(-scores, axis=1, kind="stable")[:, :10]


def numerics(vectors, reference):
    a, b = vectors.astype("f8"), reference.astype("f8")
    cosine = ((a * b).sum(1) / (numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1))).min()
    near = [len(set(x) & set(y)) / 10 for x, y in zip(nearest(a), nearest(b))]
    return f"cosine {cosine:.6f}, top-10 overlap {statistics.mean(near):.4f}, max abs {abs(a - b).max():.1e}"


def measure(turn, count, seconds):
    """Texts per second: median over turns of all texts, as many as fit."""
    rates, began = [], time.perf_counter()
    while not rates or time.perf_counter() - began < seconds:
        took = turn()
        rates.append(count / took)
    return statistics.median(rates)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--texts", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=12, help="per variant")
    parser.add_argument("--limit", type=float, default=55, help="seconds after which a variant is given up")
    parser.add_argument("--only", default="cuda:f16,cuda:bf16,cuda:f32,wgpu:f16,wgpu:f32")
    parser.add_argument("--peak", type=float, default=790, help="TFLOP/s that the card does in half precision")
    options = parser.parse_args()
    folder = os.path.join(options.work, "medcpt-random")
    texts = os.path.join(options.work, "texts.jsonl")
    tensors = make_checkpoint(folder)
    ids, types = make_texts(texts, options.texts)
    compared = range(min(COMPARED, options.texts))
    work = flops(TOKENS) / 1e12
    print(f"{options.texts} texts of {TOKENS} tokens, {work * 1e3:.1f} GFLOP each", flush=True)

    reference, half = None, None
    try:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        name = torch.cuda.get_device_name()
        reference = Peer(torch, tensors, torch.float32).encode(ids[: len(compared)], types, 128)
        peer = Peer(torch, tensors, torch.float16)
        peer.encode(ids[:256], types, 256)

        def turn():
            began = time.perf_counter()
            peer.encode(ids, types, 256)
            return time.perf_counter() - began

        half = measure(turn, options.texts, options.seconds)
        same = numerics(peer.encode(ids[: len(compared)], types, 256), reference)
        print(f"torch SDPA f16 on {name}: {half:.0f} texts/s, {half * work:.0f} TFLOP/s; {same}", flush=True)
        del peer
        torch.cuda.empty_cache()
    except Exception as error:
        print(f"PyTorch was not measured: {error}", flush=True)
        out = os.path.join(options.work, "reference.f32")
        cpu = Ours([options.ours, folder, texts, str(os.cpu_count()), "cpu"], options.limit * 2)
        cpu.turn(compared, out)
        cpu.close()
        reference = numpy.fromfile(out, "<f4").reshape(-1, HIDDEN)

    for variant in options.only.split(","):
        backend, precision = variant.split(":")
        kernels = os.path.join(options.work, f"kernels-{backend}-{precision}")
        shutil.rmtree(kernels, ignore_errors=True)
        command = [options.ours, folder, texts, "0", backend, precision, kernels]
        out = os.path.join(options.work, f"{backend}-{precision}.f32")
        try:
            starts = []
            for _ in range(2):
                began = time.perf_counter()
                ours = Ours(command, options.limit)
                ours.turn([0])
                starts.append(time.perf_counter() - began)
                if len(starts) == 1:
                    ours.close()
            ours.turn(compared, out)
            ours.turn(range(options.texts))
            rate = measure(lambda: ours.turn(range(options.texts)), options.texts, options.seconds)
            one = statistics.median(ours.turn([at]) for at in range(30)) * 1e3
            ours.close()
        except Exception as error:
            print(f"{variant}: failed: {error}", flush=True)
            continue
        ratio = f", {rate / half:.2f} of torch f16" if half else ""
        same = numerics(numpy.fromfile(out, "<f4").reshape(-1, HIDDEN), reference)
        print(
            f"{variant} ({ours.ready['backend']['description']}): {rate:.0f} texts/s, {rate * work:.0f} TFLOP/s "
            f"({rate * work / options.peak:.0%} of the roofline{ratio}); {same}; first vector after "
            f"{starts[0]:.1f} s cold, {starts[1]:.1f} s with kept kernels; one text {one:.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
