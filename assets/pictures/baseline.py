"""Two baselines that count words, behind the interface of a chat server, so that pictures of whole runs need no model.

`word-match` believes the documents that share words with the question, `word-count` all of them. Both are rules of a
few lines, no language models: what they get right says how far counting words goes.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

COMMON = set("about after also and are because been before between caused does during each first following for from had has "
             "have her him his its last longer more most not one only other patients she than that the their them then "
             "there these they this three was were what when which while who with".split())


def words(text):
    """The telling words of a text."""
    return [word for word in re.findall(r"[a-z0-9-]+", text.lower()) if len(word) > 2 and word not in COMMON]


def shared(text, wanted):
    """Which share of the wanted words a text has."""
    return len(wanted & set(words(text))) / max(len(wanted), 1)


def best_sentence(text, wanted):
    """The sentence that has most of the wanted words."""
    return max(re.split(r"(?<=[.;]) ", text), key=lambda sentence: shared(sentence, wanted))


def news(sentence, asked):
    """The last words of a sentence, one after another, that are not in what was asked."""
    parts = [[]]
    for word in re.findall(r"[\w%-]+", sentence):
        if word.lower() in asked or word.lower() not in words(word):
            parts.append([])
        else:
            parts[-1].append(word)
    return " ".join(([part for part in parts if part] or [["none"]])[-1])


def choice(options, texts, wanted):
    """The letter of the option that the texts mention most; of yes and no, yes if most of the question is found."""
    together = " ".join(texts)
    answers = {text.strip().lower(): letter for letter, text in options}
    if "yes" in answers:
        denied = re.search(r"\b(not|no|nor|without|neither|failed)\b", best_sentence(together, wanted))
        return answers["no" if denied and "no" in answers else "yes"]
    found = words(together)
    return max(options, key=lambda option: sum(found.count(word) for word in words(option[1])))[0]


def answer(prompt, careful):
    """The reply to a prompt of the program, as it wants it."""
    documents = re.findall(r'<document label="(DOC_\d+)">\n(.*?)\n</document>', prompt, re.S)
    question = re.search(r"^Question: (.*?)\nOptions:\n(.*?)\n\n", prompt, re.S | re.M)
    options = re.findall(r"^([A-Z])\. (.*)$", question[2], re.M)
    wanted = set(words(question[1]))
    near = [(label, text) for label, text in documents if shared(text, wanted) >= .15] if careful else documents
    said = {"step_by_step_thinking": f"Words of the question stand in {len(near)} of {len(documents)} documents.",
            "answer_choice": choice(options, [text for _, text in near], wanted)}
    if '"irrelevant_doc_id"' in prompt:
        labels = [label for label, _ in near]
        said = {"relevant_doc_id": labels,
                "irrelevant_doc_id": [label for label, _ in documents if label not in labels], **said}
        if not near:
            said["answer_choice"] = "insufficient information"
    subs = re.findall(r"^(sub_\d+): (.*)$", prompt, re.M)
    if not subs:
        return said
    reply = {}
    for key, sub in subs:
        asked = set(words(sub))
        label, text = max(documents, key=lambda document: shared(best_sentence(document[1], asked), asked))
        told = news(best_sentence(text, asked), asked)
        others = " ".join(other for name, other in near if name != label)
        # Careful: a document is believed where the others have the words of its answer too.
        right = not careful or shared(others, set(words(told))) >= .34
        reply[key] = {"question": sub, "relevant_doc_id": label, "factual_correctness": right,
                      "answer": told}
        if '"factual_correctness"' not in prompt:
            del reply[key]["factual_correctness"]
    return {**reply, "main": {"question": question[1], **said}}


class Handler(BaseHTTPRequestHandler):
    """Streams a reply as OpenAI's interface does."""

    def do_POST(self):  # noqa: N802, the name is the interface's
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(answer(body["messages"][-1]["content"], body["model"] == "word-match"))
        events = [{"choices": [{"index": 0, "delta": {"content": text}}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                  {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": len(text.split())}}]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        """Says nothing."""


def serve():
    """Starts the server; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
