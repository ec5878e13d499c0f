"""Times medrgb's vector search beside FAISS, hnswlib and usearch's own Python binding: the same vectors, the same
threads, one after the other in one run, and prints ratios (above 1: medrgb is faster): of the time that passed, and
of the processors' time, which other work on the machine disturbs less.

usage: vectors_peers.py ROWS DIM THREADS ROUNDS WORK_FOLDER COMMAND...
COMMAND starts benches/vectors.rs.

Needs numpy, faiss-cpu, hnswlib and usearch.
"""

import os
import statistics
import subprocess
import sys
import time

# A setting of some build machines that slows BLAS down; a comparison must not use it.
os.environ.pop("OPENBLAS_CORETYPE", None)
os.environ.pop("OPENBLAS_L2_SIZE", None)

import faiss
import hnswlib
import numpy
import usearch.index

K = 10
QUERIES = 300
CONNECTIVITY = 16
EXPANSION = 128
# Candidates while searching.
CANDIDATES = int(os.environ.get("EF", EXPANSION))
# "flat" for the exact scans alone, "usearch" for them and that peer.
ONLY = os.environ.get("ONLY")


def make(rows, dim, folder):
    """Vectors near a subspace of 64 dimensions, lengths between 4 and 12, a few outlying dimensions, as
    unnormalised encoders give them; queries are made likewise."""
    random = numpy.random.default_rng(7)
    basis = random.standard_normal((64, dim), dtype=numpy.float32) / 8
    basis[:, :: max(dim // 8, 1)] *= 3

    def some(count):
        inner = random.standard_normal((count, 64), dtype=numpy.float32)
        made = inner @ basis + 0.2 * random.standard_normal((count, dim), dtype=numpy.float32)
        lengths = random.uniform(4, 12, (count, 1)) / numpy.linalg.norm(made, axis=1, keepdims=True)
        return made * lengths.astype("f4")

    vectors, queries = some(rows), some(QUERIES)
    paths = [os.path.join(folder, name) for name in ("vectors.npy", "queries.npy")]
    numpy.save(paths[0], vectors)
    numpy.save(paths[1], queries)
    return vectors, queries, paths


class Ours:
    def __init__(self, command, paths):
        self.process = subprocess.Popen(
            command + paths, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the bench ended: " + " ".join(map(str, words)))
        return [float(word) for word in line.split()]

    def timed(self, *words):
        """Seconds that passed, and seconds of the processors."""
        start = self.processors()
        took = self.ask(*words)[0]
        return took, self.processors() - start

    def processors(self):
        # Linux: the clock of another process's processor time.
        return time.clock_gettime((~self.process.pid << 3) | 2)


def seconds(work):
    """What it gives, seconds that passed, and seconds of the processors."""
    start, processors = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - start, time.process_time() - processors), result


def medians(pairs):
    return [statistics.median(side) for side in zip(*pairs)]


def alternate(rounds, ours, theirs):
    """Medians of both, each round one after the other; the first round warms up and does not count."""
    times = [(ours(), theirs()) for _ in range(rounds + 1)][1:]
    return [medians(side) for side in zip(*times)]


def show(name, ours, theirs, extra=""):
    wall, processors = (b / a for a, b in zip(ours, theirs))
    print(
        f"{name:<46} {ours[0] * 1e3:>10.2f} {theirs[0] * 1e3:>10.2f} ms  ratio {wall:5.2f}  of processors {processors:5.2f}  {extra}",
        flush=True,
    )


def recall(found, truth):
    return sum(len(set(a) & set(b)) for a, b in zip(found, truth)) / (len(truth) * K)


def flat(ours, vectors, queries, threads, rounds):
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    for count in (1, 10, QUERIES):
        some = queries[:count]
        mine, theirs = alternate(
            rounds,
            lambda: ours.timed("flat", threads, count),
            lambda: seconds(lambda: index.search(some, K))[0],
        )
        show(f"exact, {count} at once, {threads} threads : FAISS flat", mine, theirs)
    half, full = alternate(rounds, lambda: ours.timed("flat16", threads, 1), lambda: ours.timed("flat", threads, 1))
    show(f"exact, 1 over f16, {threads} threads : over f32", half, full)
    return index.search(queries, K)[1]


def peers(vectors, threads):
    """Name, building, searching; each with the same M and candidates."""
    rows, dim = vectors.shape
    labels = numpy.arange(rows, dtype=numpy.uint64)

    def build_usearch():
        index = usearch.index.Index(
            ndim=dim, metric="ip", dtype="f32", connectivity=CONNECTIVITY,
            expansion_add=EXPANSION, expansion_search=CANDIDATES,
        )
        index.add(labels, vectors, threads=threads)
        return index

    def build_hnswlib():
        index = hnswlib.Index(space="ip", dim=dim)
        index.init_index(max_elements=rows, ef_construction=EXPANSION, M=CONNECTIVITY)
        index.set_ef(CANDIDATES)
        index.add_items(vectors, labels, num_threads=threads)
        return index

    def build_faiss():
        index = faiss.IndexHNSWFlat(dim, CONNECTIVITY, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EXPANSION
        index.hnsw.efSearch = CANDIDATES
        index.add(vectors)
        return index

    def search_usearch(index, queries, threads):
        return index.search(queries, K, threads=threads).keys

    def search_hnswlib(index, queries, threads):
        return index.knn_query(queries, k=K, num_threads=threads)[0]

    def search_faiss(index, queries, threads):
        faiss.omp_set_num_threads(threads)
        return index.search(queries, K)[1]

    return [
        ("usearch-python", build_usearch, search_usearch),
        ("FAISS HNSW", build_faiss, search_faiss),
        ("hnswlib", build_hnswlib, search_hnswlib),
    ]


def graphs(ours, vectors, queries, truth, threads, rounds):
    faiss.omp_set_num_threads(threads)
    for number, (name, build, search) in enumerate(peers(vectors, threads)[: 1 if ONLY else None]):
        # Twice against the peer that the ratio is promised for, once each way round.
        built = []
        for turn in range(2 if number == 0 else 1):
            if turn == 0:
                mine = ours.timed("build", "f32", threads)
            theirs, index = seconds(build)
            if turn == 1:
                mine = ours.timed("build", "f32", threads)
            built.append((mine, theirs))
        show(f"build, {threads} threads : {name}", *(medians(side) for side in zip(*built)))
        for count in sorted({1, threads}):
            share = recall(search(index, queries, count), truth)
            mine, theirs = alternate(
                rounds,
                lambda: ours.timed("query", "f32", count, CANDIDATES),
                lambda: seconds(lambda: search(index, queries, count))[0],
            )
            own = ours.ask("query", "f32", count, CANDIDATES)[1]
            show(
                f"{len(queries)} queries, {count} threads : {name}", mine, theirs,
                f"recall@10 {own:.3f} : {share:.3f}",
            )
        del index
    for kind in ("f32",) if ONLY else ("f32", "f16", "i8"):
        if kind != "f32":
            print(f"build {kind}: {ours.ask('build', kind, threads)[0]:.1f} s")
        for expansion in (64, 128, 256, 512):
            took, share = ours.ask("query", kind, 1, expansion)
            print(f"  {kind} ef {expansion:>3}: {took / len(queries) * 1e3:.3f} ms a query, recall@10 {share:.3f}")
        save, load, view, size = ours.ask("open", kind)
        print(f"  {kind} file {size / 1e6:.1f} MB: saved in {save:.0f} ms, loaded in {load:.0f}, opened in {view:.1f}", flush=True)


def main():
    rows, dim, threads, rounds = map(int, sys.argv[1:5])
    vectors, queries, paths = make(rows, dim, sys.argv[5])
    ours = Ours(sys.argv[6:], paths)
    print(f"{rows} x {dim}, {threads} threads, medians of {rounds} alternating rounds; ours, theirs", flush=True)
    truth = flat(ours, vectors, queries, threads, rounds)
    if ONLY != "flat":
        graphs(ours, vectors, queries, truth, threads, rounds)


main()
