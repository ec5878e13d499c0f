"""Times our encoder beside sentence-transformers (torch) and ONNX Runtime, taking turns on the same batches.

Run it through encode.sh. Every side is a process of its own that stays loaded; in each round each side gets
the same few batches, in an order that changes, while the others sleep. Texts are sorted by length before they
are cut into batches of 32, so that the peers pad as little as they can. Wall time and processor time of every
turn are kept; the ratios of their medians are printed, with the share of padding and the smallest cosine
between our vectors and the peers'.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import time

BATCH = 32
# Threads of a peer spin for a while after their last work; the next side waits until they sleep.
PAUSE = 0.4


def read_corpus(path, count):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for _, line in zip(range(count), file)]
    return [(record.get("title", ""), record["text"]) for record in records]


def make_medcpt(folder, tokenizer_folder):
    """A BERT base with random weights that calls itself MedCPT, with MiniLM's tokenizer (the same word pieces)."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig()).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.02)
            elif "LayerNorm.weight" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config["_name_or_path"] = "random/MedCPT-Article-Encoder"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def export(folder, path):
    """The encoder as an ONNX graph with free batch and length, then with ONNX Runtime's fusions for BERT."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    sample = {
        "input_ids": torch.randint(5, 1000, (2, 16)),
        "attention_mask": torch.ones(2, 16, dtype=torch.long),
        "token_type_ids": torch.zeros(2, 16, dtype=torch.long),
    }
    names = list(sample)
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    plain = path + ".plain"
    try:
        torch.onnx.export(
            Hidden(), tuple(sample.values()), plain, input_names=names, output_names=["hidden"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in names + ["hidden"]},
            opset_version=17, dynamo=False,
        )
    except Exception as error:  # the older exporter leaves PyTorch some day
        print(f"exporting through TorchScript failed ({error}); through torch.export instead", file=sys.stderr)
        torch.onnx.export(
            Hidden(), tuple(sample.values()), plain, input_names=names, output_names=["hidden"],
            dynamic_shapes={name: axes for name in names}, dynamo=True, external_data=False,
        )
    from onnxruntime.transformers import optimizer

    config = model.config
    fused = optimizer.optimize_model(
        plain, model_type="bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size
    )
    print(f"{folder}: ONNX Runtime's fusions: {fused.get_fused_operator_statistics()}", file=sys.stderr)
    fused.save_model_to_file(path)


class Torch:
    def __init__(self, folder, kind, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.kind = kind
        if kind == "minilm":
            from sentence_transformers import SentenceTransformer

            self.model = SentenceTransformer(folder, device="cpu")
        else:
            # MedCPT is no sentence-transformers folder: its model card's own lines, without gradients.
            from transformers import AutoModel, AutoTokenizer

            self.tokenizer = AutoTokenizer.from_pretrained(folder)
            self.model = AutoModel.from_pretrained(folder).eval()

    def encode(self, texts):
        if self.kind == "minilm":
            return self.model.encode([f"{title} {text}" for title, text in texts], batch_size=BATCH)
        import numpy

        out = []
        with self.torch.inference_mode():
            for start in range(0, len(texts), BATCH):
                titles, contents = zip(*texts[start : start + BATCH])
                inputs = self.tokenizer(
                    list(titles), list(contents), truncation=True, padding=True, max_length=512, return_tensors="pt"
                )
                out.append(self.model(**inputs).last_hidden_state[:, 0].numpy())
        return numpy.concatenate(out)


class Onnx:
    def __init__(self, folder, kind, threads, graph):
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.names = {node.name for node in self.session.get_inputs()}
        self.kind = kind
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.enable_truncation(256 if kind == "minilm" else 512)
        self.tokenizer.enable_padding()

    def encode(self, texts):
        import numpy

        out = []
        for start in range(0, len(texts), BATCH):
            some = texts[start : start + BATCH]
            some = [f"{title} {text}" for title, text in some] if self.kind == "minilm" else some
            tokens = self.tokenizer.encode_batch(some)
            mask = numpy.array([row.attention_mask for row in tokens], dtype=numpy.int64)
            inputs = {
                "input_ids": numpy.array([row.ids for row in tokens], dtype=numpy.int64),
                "attention_mask": mask,
                "token_type_ids": numpy.array([row.type_ids for row in tokens], dtype=numpy.int64),
            }
            inputs = {name: array for name, array in inputs.items() if name in self.names}
            hidden = self.session.run(None, inputs)[0]
            if self.kind == "minilm":
                weights = mask[:, :, None].astype(numpy.float32)
                pooled = (hidden * weights).sum(1) / weights.sum(1)
                out.append(pooled / numpy.linalg.norm(pooled, axis=1, keepdims=True))
            else:
                out.append(hidden[:, 0])
        return numpy.concatenate(out)


def serve(name, folder, kind, threads, graph, texts):
    """Answers requests {"which": [...], "out": FILE|null} on stdin, one JSON line each."""
    import numpy

    with open(texts, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    pairs = [(record["title"], record["content"]) for record in records]
    side = Torch(folder, kind, threads) if name == "torch" else Onnx(folder, kind, threads, graph)
    answer = sys.stdout
    print(json.dumps({"ready": True}), file=answer, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        chosen = [pairs[index] for index in request["which"]]
        began = time.perf_counter()
        vectors = side.encode(chosen)
        seconds = time.perf_counter() - began
        if request.get("out"):
            numpy.ascontiguousarray(vectors, dtype="<f4").tofile(request["out"])
        print(json.dumps({"seconds": seconds}), file=answer, flush=True)


class Side:
    """A running process that encodes when asked."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended early")
        return json.loads(line)

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def turn(self, which, out=None):
        """Wall and processor seconds for these texts."""
        before = self.processor_seconds()
        print(json.dumps({"which": which, "out": out}), file=self.process.stdin, flush=True)
        seconds = self.answer()["seconds"]
        used = self.processor_seconds() - before
        time.sleep(PAUSE)
        return seconds, used

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def lengths(folder, kind, texts):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256 if kind == "minilm" else 512)
    inputs = [f"{title} {text}" for title, text in texts] if kind == "minilm" else texts
    return [len(row.ids) for row in tokenizer.encode_batch(inputs)]


def smallest_cosine(a, b, dim):
    import numpy

    a, b = (numpy.fromfile(path, dtype="<f4").reshape(-1, dim).astype("f8") for path in (a, b))
    norms = numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1)
    return float(((a * b).sum(1) / norms).min())


def compare(kind, folder, count, options):
    texts = read_corpus(options.corpus, count)
    path = os.path.join(options.work, f"{kind}.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for title, content in texts:
            print(json.dumps({"title": title, "content": content}), file=file)
    graph = os.path.join(options.work, f"{kind}.onnx")
    if not os.path.exists(graph):
        export(folder, graph)
    tokens = lengths(folder, kind, texts)
    order = sorted(range(len(texts)), key=lambda index: -tokens[index])
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    padded = sum(len(batch) * max(tokens[index] for index in batch) for batch in batches)
    rounds = min(options.rounds, len(batches))
    # Every round gets batches of all lengths, so that rounds are alike.
    shares = [[index for batch in batches[at::rounds] for index in batch] for at in range(rounds)]

    def peer(name):
        return [
            sys.executable, os.path.abspath(__file__), "--serve", name, "--folder", folder, "--kind", kind,
            "--threads", str(options.threads), "--graph", graph, "--texts", path,
        ]

    sides = [
        Side("ours", [options.ours, folder, path, str(options.threads)]),
        Side("sentence-transformers" if kind == "minilm" else "transformers (torch)", peer("torch")),
        Side("ONNX Runtime", peer("onnx")),
    ]
    vectors = [os.path.join(options.work, f"{kind}.{at}.f32") for at in range(len(sides))]
    sample = random.Random(0).sample(range(len(texts)), min(64, len(texts)))
    for side, out in zip(sides, vectors):
        side.turn(sample, out)
    dim = os.path.getsize(vectors[0]) // 4 // len(sample)
    cosines = [smallest_cosine(vectors[0], other, dim) for other in vectors[1:]]
    rates = {side.name: ([], []) for side in sides}
    for at, share in enumerate(shares):
        turns = sides[at % 3 :] + sides[: at % 3]
        for side in turns:
            seconds, used = side.turn(share)
            rates[side.name][0].append(len(share) / seconds)
            rates[side.name][1].append(len(share) / used)
        print(f"{kind}: round {at + 1} of {rounds}", file=sys.stderr)
    for side in sides:
        side.close()

    shape = "MiniLM" if kind == "minilm" else "MedCPT's shape"
    print(f"\n{shape}: {len(texts)} articles of SciFact, {sum(tokens) / len(texts):.0f} tokens on average, "
          f"{options.threads} threads, {rounds} rounds")
    print(f"{'':24}{'texts/s':>10}{'ratio':>8}{'texts/cpu-s':>13}{'ratio':>8}{'padding':>9}{'cosine':>12}")
    ours = [statistics.median(rates[sides[0].name][kind_of]) for kind_of in (0, 1)]
    for at, side in enumerate(sides):
        wall, used = (statistics.median(rates[side.name][kind_of]) for kind_of in (0, 1))
        # Ratios pair by round: load from elsewhere then hits both sides of a quotient.
        paired = [
            statistics.median(a / b for a, b in zip(rates[sides[0].name][kind_of], rates[side.name][kind_of]))
            for kind_of in (0, 1)
        ]
        padding = 0.0 if at == 0 else 1 - sum(tokens) / padded
        cosine = "" if at == 0 else f"{cosines[at - 1]:.8f}"
        print(f"{side.name:24}{wall:10.2f}{paired[0]:8.3f}{used:13.2f}{paired[1]:8.3f}{padding:9.1%}{cosine:>12}")
    print(f"ratios: ours to theirs, median over rounds; of medians: "
          + ", ".join(f"{side.name} {ours[0] / statistics.median(rates[side.name][0]):.3f}" for side in sides[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours")
    parser.add_argument("--corpus")
    parser.add_argument("--minilm-folder")
    parser.add_argument("--medcpt-folder", help="without it a random checkpoint is made in the work folder")
    parser.add_argument("--work")
    parser.add_argument("--minilm", type=int, default=2000, help="articles for MiniLM; 0 leaves it out")
    parser.add_argument("--medcpt", type=int, default=300, help="articles for MedCPT's shape; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    for hidden in ("--serve", "--folder", "--kind", "--graph", "--texts"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.folder, options.kind, options.threads, options.graph, options.texts)
        return
    if options.minilm:
        compare("minilm", options.minilm_folder, options.minilm, options)
    if options.medcpt:
        folder = options.medcpt_folder or os.path.join(options.work, "medcpt-random")
        if not os.path.exists(os.path.join(folder, "model.safetensors")):
            make_medcpt(folder, options.minilm_folder)
        compare("medcpt", folder, options.medcpt, options)


if __name__ == "__main__":
    main()
