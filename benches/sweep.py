"""A stub server and a sweep against it; see sweep.sh."""

import asyncio
import heapq
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

LIMIT = 64
LATENCY = 0.2
TOKENS_A_SECOND = 200
SECONDS = 10
CONDITIONS = 8

PIECE = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"stub","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n'
END = (
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}\n\n'
    b"data: [DONE]\n\n"
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWER = rb'{\"step_by_step_thinking\": \"Mice.\", \"answer_choice\": \"A\"}'


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Load:
    """How many requests are being answered, over time."""

    def __init__(self, total):
        self.total = total
        self.now = self.most = self.seen = self.connections = 0
        self.area = self.since = self.full_since = self.full_until = None

    def change(self, by):
        at = time.perf_counter()
        if self.full_since is not None and self.full_until is None:
            self.area += self.now * (at - self.since)
        self.since = at
        self.now += by
        self.seen += by > 0
        self.most = max(self.most, self.now)
        if self.now == LIMIT and self.full_since is None:
            self.full_since, self.area = at, 0.0
        # From the last request on there is nothing to fill up with.
        if self.seen == self.total and self.full_until is None:
            self.full_until = at

    def report(self):
        steady = None
        if self.full_since is not None and self.full_until and self.full_until > self.full_since:
            steady = self.area / (self.full_until - self.full_since) / LIMIT
        return {"most": self.most, "steady": steady, "requests": self.seen, "connections": self.connections}


class Stub(asyncio.Protocol):
    def __init__(self, load, start):
        self.load, self.start, self.data = load, start, b""

    def connection_made(self, transport):
        self.load.connections += 1
        self.transport = transport

    def data_received(self, data):
        self.data += data
        head, found, rest = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length"))
        if len(rest) < length:
            return
        self.data = rest[length:]
        self.load.change(1)
        self.start(self)

    def finish(self, last):
        self.load.change(-1)
        self.transport.write(last + b"0\r\n\r\n")


def at_once(loop):
    whole = HEAD + chunk(PIECE % ANSWER + END)
    return lambda stub: loop.call_later(LATENCY, stub.finish, whole)


def streaming(loop):
    """One timer for all streams: each gets its tokens in time, a few together where the machine is slow."""
    step = 1 / TOKENS_A_SECOND
    pieces = [chunk(PIECE % (b" word"))] * (TOKENS_A_SECOND * SECONDS)
    pieces[0] = chunk(PIECE % rb'{\"step_by_step_thinking\": \"')
    pieces[-1] = chunk(PIECE % rb'\", \"answer_choice\": \"A\"}')
    due = []

    def tick():
        now = loop.time()
        while due and due[0][0] <= now:
            at, _, stub, number = heapq.heappop(due)
            stub.transport.write(pieces[number])
            if number + 1 == len(pieces):
                stub.finish(chunk(END))
            else:
                heapq.heappush(due, (at + step, id(stub), stub, number + 1))
        loop.call_later(step / 2, tick)

    def start(stub):
        stub.transport.write(HEAD)
        # Spread over the step, as they are with a real server.
        heapq.heappush(due, (loop.time() + step * (id(stub) // 64 % 10) / 10, id(stub), stub, 0))

    loop.call_soon(tick)
    return start


def serve(kind, total, pipe):
    async def run():
        loop = asyncio.get_running_loop()
        load = Load(total)
        start = {"at once": at_once, "streaming": streaming}[kind](loop)
        server = await loop.create_server(lambda: Stub(load, start), "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, pipe.recv)
        pipe.send(load.report())

    asyncio.run(run())


def dataset(folder, questions):
    os.makedirs(folder)
    documents = {}
    with open(os.path.join(folder, "qa.jsonl"), "w") as out:
        for q in range(questions):
            line = {"question_id": f"q{q}", "question": f"Does gene {q} raise the risk?",
                    "options": {"A": "yes", "B": "no"}, "answer": "A"}
            out.write(json.dumps(line) + "\n")
            text = f"Study of gene {q} in mice. " + "It was looked at in several groups over many weeks. " * 20
            documents[f"q{q}"] = [{"id": f"d{q}-{d}", "title": "", "content": f"{d}. {text}"} for d in range(5)]
    with open(os.path.join(folder, "signal_docs.json"), "w") as out:
        json.dump(documents, out)


def measure(medrgb, kind, total, ideal):
    with tempfile.TemporaryDirectory() as place:
        dataset(os.path.join(place, "set"), total // CONDITIONS)
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.Process(target=serve, args=(kind, total, theirs))
        server.start()
        port = ours.recv()
        environment = {"HOME": place, "MEDRGB_HOME": os.path.join(place, "home"), "OPENAI_API_KEY": "none"}
        began = time.perf_counter()
        program = subprocess.Popen(
            [medrgb, "sweep", "--dataset", "set", "--scenario", "standard,sufficiency", "--docs", "0,5",
             "--model", "openai:m", "--base-url", f"http://127.0.0.1:{port}/v1", "--run", "r", "--json",
             "--concurrency", str(LIMIT), "--max-tokens", "4096"],
            cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = program.stdout.read(), program.stderr.read()
        _, status, usage = os.wait4(program.pid, 0)
        wall = time.perf_counter() - began
        ours.send(None)
        load = ours.recv()
        server.join()
        if status:
            sys.exit(err.decode())
        answer = json.loads(out)
        assert answer["n"] == total, answer
        asking = answer["seconds"]
        steady = "never full" if load["steady"] is None else f"{100 * load['steady']:.1f} % of the limit in steady state"
        print(f"{kind}: {total} requests over {load['connections']} connections, at most {load['most']} at a time, {steady}")
        print(f"  asking took {asking:.2f} s, {asking / ideal:.3f} of the ideal {ideal:.2f} s; the whole program {wall:.2f} s")
        cpu = usage.ru_utime + usage.ru_stime
        print(f"  processor {cpu:.2f} s ({usage.ru_utime:.2f} user, {usage.ru_stime:.2f} system): "
              f"{100 * cpu / wall:.0f} % of one core, memory {usage.ru_maxrss / 1e3:.0f} MB", flush=True)


def main():
    medrgb = os.path.abspath(sys.argv[1])
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 6400
    measure(medrgb, "at once", total, total / LIMIT * LATENCY)
    rounds = 2
    measure(medrgb, "streaming", rounds * LIMIT, rounds * SECONDS)


if __name__ == "__main__":
    main()
