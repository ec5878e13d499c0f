"""Scores saved replies as MIRAGE's script does: our own implementation of its rules, written from their
description, as a yardstick for the speed of `medrgb score --definition mirage`.

usage: python3 score_reference.py BENCHMARK.json[.gz] SET=PREDICTIONS.jsonl ...

Prints one line per file: set, right answers, replies.
"""

import gzip
import json
import re
import sys

MARK = '"answer_choice": "'
PATTERNS = [
    re.compile(pattern)
    for pattern in (
        r"^\s*(A|B|C|D)$",
        r"^\s*(A|B|C|D) or",
        r"^\s*(A|B|C|D) and",
        r"^\s*(A|B|C|D)/",
        r"^\s*(A|B|C|D),",
        r"[Oo]ption (A|B|C|D)",
        r":\s*(A|B|C|D)",
        r"^\s*(A|B|C|D)\.",
        r'^\s*(A|B|C|D)"',
        r"^\s*(A|B|C|D):",
    )
]


def choice(reply):
    """The letter of a reply, A where no pattern matches; None for a reply saved as null."""
    if reply is None:
        return None
    text = reply.split(MARK)[-1].strip()
    for pattern in PATTERNS:
        found = pattern.search(text)
        if found:
            return found.group(1)
    return "A"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path = sys.argv[1]
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        benchmark = json.load(file)
    for argument in sys.argv[2:]:
        name, _, predictions = argument.partition("=")
        questions = benchmark[name]
        right = replies = 0
        with open(predictions, encoding="utf-8") as file:
            for line in file:
                if not line.strip():
                    continue
                record = json.loads(line)
                replies += 1
                right += choice(record["response"]) == questions[record["id"]]["answer"]
        print(name, right, replies)


main()
