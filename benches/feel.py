"""Drives the explorer in a pseudo-terminal and times what a person feels. See feel.sh."""

import fcntl
import http.server
import json
import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import threading
import time

COLUMNS, ROWS = 200, 60
TOKENS_PER_SECOND = 200
KEYS = int(os.environ.get("KEYS", "200"))
TICKS = os.sysconf("SC_CLK_TCK")


class Model(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible server whose replies never end by themselves."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        start, sent = time.perf_counter(), 0
        words = ["the ", "documents ", "describe ", "a ", "finding ", "that ", "others ", "deny, "]
        try:
            self.token('{"step_by_step_thinking": "')
            while time.perf_counter() - start < 120:
                due = int((time.perf_counter() - start) * TOKENS_PER_SECOND)
                while sent < due:
                    self.token(words[sent % len(words)])
                    sent += 1
                time.sleep(0.002)
        except OSError:
            pass

    def token(self, text):
        event = {"choices": [{"delta": {"content": text}}]}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


class Session:
    """The program in a terminal of its own, with folders of its own."""

    def __init__(self, program, arguments):
        self.home = tempfile.mkdtemp(prefix="feel-")
        self.started = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            environment = dict(os.environ, MEDRGB_HOME=self.home, TERM="xterm-256color", COLORTERM="truecolor")
            environment.pop("NO_COLOR", None)
            os.execve(program, [program, *arguments], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds):
        """What comes within a time; empty where nothing does."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self.terminal, 1 << 16)
        except OSError:
            return b""

    def until(self, wanted, seconds=30.0):
        """Seconds until the output holds `wanted`."""
        start, seen = time.perf_counter(), b""
        while time.perf_counter() - start < seconds:
            seen = seen[-4096:] + self.read(0.5)
            if wanted in seen:
                return time.perf_counter() - start
        raise SystemExit(f"{wanted!r} did not appear within {seconds} s; last output: {seen[-300:]!r}")

    def drain(self, seconds):
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def press(self, keys):
        os.write(self.terminal, keys)

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
        return float("nan")

    def end(self):
        try:
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)
        except OSError:
            pass
        os.close(self.terminal)
        shutil.rmtree(self.home, ignore_errors=True)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(what, value, target):
    print(f"{what:<58} {value:<34} {target}")


def first_frame(program, arguments):
    times = []
    for _ in range(12):
        session = Session(program, arguments)
        # The footer is the last thing of a frame.
        session.until(b"all keys")
        times.append((time.perf_counter() - session.started) * 1e3)
        session.end()
    times = times[2:]
    row("process start to first frame, ms", f"median {quantile(times, 0.5):.0f}, worst {max(times):.0f}", "<= 50")


def idle(program, arguments):
    session = Session(program, arguments)
    session.until(b"all keys")
    session.press(b"\r")
    session.drain(3)
    before, seconds = session.processor_seconds(), 20
    session.drain(seconds)
    used = (session.processor_seconds() - before) / seconds * 100
    row("idle on the instance screen, % of a core", f"{used:.2f}", "<= 0.5")
    row("memory without models and index, MiB", f"{session.memory():.0f}", "<= 60")
    session.end()


def keys_under_a_stream(program, arguments):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    session = Session(program, [*arguments, "--model", "openai:stub", "--base-url", url])
    session.until(b"all keys")
    session.press(b"\r")
    session.drain(1)
    session.press(b"a")
    session.drain(2)
    before, began, times = session.processor_seconds(), time.perf_counter(), []
    for _ in range(KEYS):
        session.press(b"?")
        # The footer of an overlay; titles may come in pieces, since unchanged cells are left out.
        times.append(session.until(b"scroll") * 1e3)
        session.press(b"\x1b")
        session.drain(0.15)
    used = (session.processor_seconds() - before) / (time.perf_counter() - began) * 100
    text = f"median {quantile(times, 0.5):.1f}, p99 {quantile(times, 0.99):.1f}, worst {max(times):.1f}"
    row(f"key to frame at {TOKENS_PER_SECOND} tokens/s, ms ({KEYS} keys)", text, "p99 <= 16")
    row("the same, % of a core", f"{used:.0f}", "")
    session.end()
    server.shutdown()


def main():
    program, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    print(f"{program}, {COLUMNS} x {ROWS}, {os.cpu_count()} cores")
    first_frame(program, [*arguments, "--model", "openai:stub", "--base-url", "http://127.0.0.1:9/v1"])
    keys_under_a_stream(program, arguments)
    idle(program, [*arguments, "--model", "openai:stub", "--base-url", "http://127.0.0.1:9/v1"])


if __name__ == "__main__":
    main()
