"""Writes a corpus of N chunks of about 1,000 characters as MedRAG's JSON lines, the same for the same seed.

usage: index_corpus.py N FILE.jsonl [SEED]

Words come from a vocabulary of 200,000 with the frequencies of natural language (Zipf), the most frequent ones
being real English words, so that stop words and stems have their usual share.
"""

import json
import sys

import numpy

COMMON = (
    "the of and in to a with for was were is that patients by on as at from or be an treatment this are study "
    "clinical results disease group cells after we between not risk these studies cancer which associated using "
    "high effects significant therapy compared increased blood years data analysis levels during based may two "
    "cell factors control more had has it effect used than children method methods expression human health "
).split()
VOCABULARY = 200_000
SYLLABLES = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ("", "n", "r", "s", "x")]


def vocabulary(random):
    words = list(COMMON)
    seen = set(words)
    while len(words) < VOCABULARY:
        parts = random.integers(0, len(SYLLABLES), size=(50_000, 4))
        lengths = random.integers(2, 5, size=50_000)
        for row, length in zip(parts, lengths):
            word = "".join(SYLLABLES[part] for part in row[:length])
            if word not in seen and len(words) < VOCABULARY:
                seen.add(word)
                words.append(word)
    return words


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    random = numpy.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    words = vocabulary(random)
    weights = 1.0 / (numpy.arange(VOCABULARY) + 2.7)
    bounds = numpy.cumsum(weights / weights.sum())
    with open(path, "w", encoding="utf-8") as out:
        done = 0
        while done < count:
            chunk = min(5_000, count - done)
            lengths = random.integers(110, 171, size=chunk)
            picked = numpy.searchsorted(bounds, random.random(int(lengths.sum())))
            picked = numpy.minimum(picked, VOCABULARY - 1).tolist()
            at = 0
            for number, length in enumerate(lengths.tolist()):
                text = " ".join([words[word] for word in picked[at : at + length]])
                at += length
                title = text[:60].rsplit(" ", 1)[0]
                record = {"id": f"chunk_{done + number}", "title": title, "content": text, "contents": f"{title}. {text}"}
                out.write(json.dumps(record) + "\n")
            done += chunk


main()
