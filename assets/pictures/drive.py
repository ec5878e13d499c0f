"""Makes the pictures of the README from the real program, in a terminal of its own: see make.sh.

Nothing is sampled from a model: the demo plays recorded replies, and whole runs come from the two word-counting
baselines in baseline.py, which a sweep asks over this machine's loopback address. The stills are the same at every
run; the film's frames are taken at real times, so its figures of seconds may differ. Where the machine is too slow, or
a screen says something else than is awaited here, the screen is printed with what was missing.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import baseline
import render

SIZE = 120, 36
TALL = 120, 42
PATIENCE = float(os.environ.get("PICTURES_PATIENCE", "60"))  # seconds that anything may take


class Missing(Exception):
    """Something was not on screen in time."""


class Terminal:
    """The program in tmux, with a home folder of its own."""

    def __init__(self, program, home, size, theme, *arguments):
        self.socket = Path(tempfile.mkdtemp(dir=home)) / "tmux"  # a new one: the server before may still be ending
        settings = environment(home)
        told = [part for name in settings for part in ("-e", f"{name}={settings[name]}")]
        self.tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), *told, program, "--fresh", "--theme", theme, *arguments)
        self.tmux("set", "-g", "status", "off")
        self.frames, self.caption, self.pressed = [], "", ""
        self.clock = None  # seconds of the film; real ones, but slow key presses and captures do not count

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", str(self.socket), *words],
                              capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=PATIENCE)
        if done.returncode:
            raise Missing(f"tmux {words[0]}: {done.stderr.strip()} (did the program end?)")
        return done.stdout

    def end(self):
        """Leaves the program and its terminal."""
        try:
            self.tmux("kill-server")
        except (Missing, subprocess.TimeoutExpired):
            pass

    def words(self):
        return self.tmux("capture-pane", "-p")

    def colours(self):
        return self.tmux("capture-pane", "-epN")

    def until(self, *wanted, gone=()):
        """Waits until all of these words are on screen and none of those."""
        began, clock = time.monotonic(), self.clock
        while (passed := time.monotonic() - began) < PATIENCE:
            if clock is not None:
                self.clock = clock + passed
            now = self.words()
            if all(one in now for one in wanted) and not any(one in now for one in gone):
                return self
            self.look()
            time.sleep(.08)
        raise Missing(f"not on screen within {PATIENCE:.0f} s: {wanted} without {gone}\n{self.words()}")

    def press(self, *keys, wait=.15):
        """Presses keys; a text that begins with a blank is typed letter by letter."""
        for key in keys:
            for one in key[1:] if key.startswith(" ") and len(key) > 1 else [key]:
                self.tmux("send-keys", *(["-l", one] if len(one) == 1 else [one]))
                self.pressed = "key: " + {"Enter": "enter", "Escape": "esc", "Tab": "tab"}.get(one, one)
                self.hold(wait)
        return self

    def walk(self, key, *wanted, most=60, left=0):
        """Presses a key until the words are on screen, at or behind column `left`."""
        for _ in range(most):
            now = self.words()
            behind = "\n".join(line[left:] for line in now.split("\n"))
            if all(one in behind for one in wanted):
                return self
            self.press(key)
            end = time.monotonic() + 2
            while self.words() == now and time.monotonic() < end:  # else a slow answer brings one press too many
                time.sleep(.05)
        raise Missing(f"{most} times {key!r} did not bring {wanted}\n{self.words()}")

    def settle(self):
        """The screen once it has stopped changing."""
        end, before = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            now = self.colours()
            if now == before:
                return now
            before = now
            time.sleep(.5)
        raise Missing(f"the screen does not come to rest\n{self.words()}")

    def film(self):
        """From now on what is seen is kept."""
        self.clock, self.frames, self.pressed = 0.0, [], ""
        self.look()

    def look(self):
        """Keeps the screen, where it differs from the frame before."""
        if self.clock is None:
            return
        seen, again = self.colours(), self.colours()
        if seen != again:  # perhaps caught while it was being drawn
            seen = self.colours()
        frame, at = (seen, self.caption, self.pressed), self.clock
        if not self.frames or self.frames[-1][1:] != frame:
            if self.frames and at - self.frames[-1][0] < .07:
                at = self.frames.pop()[0]
            self.frames.append((at, *frame))

    def hold(self, seconds, caption=None):
        """Lets time go by, perhaps with another caption."""
        self.caption = caption or self.caption
        began, clock = time.monotonic(), self.clock
        while (passed := time.monotonic() - began) < seconds:
            if clock is not None:
                self.clock = clock + passed
                self.look()
            time.sleep(max(min(.2, seconds - passed), 0))
        if clock is not None:
            self.clock = clock + seconds
            self.look()
        if caption:
            self.pressed = ""
        return self


def environment(home):
    """What the program sees: no keys, no proxies, no settings of whoever runs this."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "MEDRGB_HOME": str(home / "medrgb"), "LC_ALL": "C.UTF-8",
            "MEDRGB_COLORS": "truecolor", "MEDRGB_ANNOTATOR": "reader", "TZ": "UTC", "OPENAI_API_KEY": "none"}


def run(program, home, *arguments):
    """A command of the program."""
    done = subprocess.run([program, *arguments], env=environment(home), capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"medrgb {' '.join(arguments)} failed: {done.stderr.strip()}")


def open_robustness(terminal):
    """The question whose robustness replies are recorded, with every document in its original form."""
    terminal.until("32 questions").press("/").until("Questions  /").press(" medqa-1").until("/ medqa-1").press("Enter")
    terminal.press("Enter").until("Question  sample-medqa-1")
    terminal.walk("s", "Robustness  n 5", most=4).walk("]", "p 100 %", most=6)


def tour(program, home):
    """The film: step p, ask, look why."""
    terminal = Terminal(program, home, SIZE, "dark", "--demo")
    try:
        # The demo's own captions are left; its replies can be asked for on the ordinary screens too.
        terminal.until("next in").press("Escape").until("Sufficiency  n 5").press("+", "+", "+", "+").until("×16")
        terminal.press("q").until("32 questions")
        open_robustness(terminal)
        terminal.press("q").until("enter open", "sample-medqa-1").hold(4)
        terminal.caption = "A benchmark question, and the documents a model is to answer it from"
        terminal.film()
        terminal.hold(2.5).press("Enter").until("Robustness  n 5").hold(2.6, "p = 100 %: all five documents are as they were retrieved")
        terminal.press("[").until("p 80 %").hold(2.2, "p = 80 %: one document now states something wrong")
        terminal.press("[").until("p 60 %").hold(1.2, "p = 60 %: two of five. What was edited is marked for us, not for the model")
        terminal.walk("Tab", "┏ ▲ Adversarial", most=8).walk("j", "Blood glucose", most=20, left=70).hold(2.6)
        terminal.press("a").hold(.6, "The model is asked: a reply recorded from a small one, 16 times as fast")
        terminal.until("final")
        terminal.hold(3.2, "Scored as it comes: edited documents noticed? planted answers adopted?")
        terminal.press("w").until("Why the scores").hold(4, "Why each score is what it is: the rule, and the words of the reply")
        return render.film(terminal.frames, *SIZE, "dark",
                           "A tour of the explorer: stepping p, asking the recorded model, scores and their reasons", 3)
    finally:
        terminal.end()


def instance(terminal):
    """Documents side by side with the edit in sight, the reply, its scores."""
    open_robustness(terminal)
    terminal.press("[", "[").until("p 60 %", "stored reply").walk("Tab", "┏ ▲ Adversarial", most=8)
    terminal.walk("j", "Blood glucose", most=20, left=70).walk("Tab", "┏ Robustness scores", most=8).walk("j", "misinformation adopted", most=60)


def browse(terminal):
    """The list with the outcomes of a run, narrowed by facets."""
    terminal.press("o").until("Choose a run").walk("j", ">robustness-40").press("Enter").until("run robustness-40")
    terminal.press("f").until("Which questions?").walk("j", ">  [ ] wrong").press("Space").walk("j", ">  [ ] adopted").press("Space")
    terminal.until("[x] wrong", "[x] adopted").press("Escape").until(gone=("Which questions?",))


def curves(terminal):
    """Accuracy over p."""
    terminal.press("W").until("Stored runs").walk("j", ">word-match").press("Enter").until("In words and numbers")
    terminal.walk("s", "robustness, 5", most=5)


def compare(terminal):
    """Two runs, and what flips between them."""
    terminal.press("C").until("Choose two runs").walk("j", ">   word-count").press("Enter").walk("j", ">   word-match")
    terminal.press("Enter").until("A word-count", "B word-match", gone=("Choose two", "reading both"))


def talk(terminal):
    """A step of the demo with scores."""
    terminal.until("next in").press("+", "+", "+", "+").walk("Right", "6/13", most=8).press("Right").until("next in")
    terminal.press("Right").until("8/13", "next in").press("a").until(gone=("next in",))


def retrieval(terminal):
    """Three retrievers side by side, with the map of their vectors."""
    terminal.press("r").until("Hybrid", gone=("being", "searching")).hold(1)


STILLS = {
    "instance": (instance, TALL, "dark", ["--model", "replay:recorded"], "A robustness question: edited documents, reply and scores"),
    "browse": (browse, SIZE, "dark", [], "Questions that a run got wrong where it gave a planted answer"),
    "curves": (curves, SIZE, "dark", [], "A metric of a stored run over p"),
    "compare": (compare, SIZE, "dark", [], "Two runs pair by pair"),
    "talk": (talk, SIZE, "light", ["--demo"], "medrgb --demo"),
    "retrieval": (retrieval, SIZE, "dark", [], "The same query for three retrievers"),
}


def make(program, folder, wanted):
    """Writes the wanted pictures; without any all."""
    with tempfile.TemporaryDirectory(prefix="medrgb-pictures-") as place:
        # The recorded model's replies in a home of their own: an instance shows the newest reply that is stored.
        recorded, home = Path(place) / "recorded", Path(place) / "baselines"
        for one in recorded, home:
            one.mkdir()
        run(program, recorded, "runs", "import", str(folder / "../../sample-data/recorded.jsonl.gz"))
        if not wanted or {"browse", "curves", "compare"} & wanted:
            address = baseline.serve()
            # One run has one reply to each question, so that the list shows exactly what its facets count.
            for model, name, *condition in (("word-match", "word-match"), ("word-count", "word-count"),
                                            ("word-match", "robustness-40", "--p", "40")):
                run(program, home, "sweep", "--model", f"openai:{model}", "--base-url", address, "--run", name,
                    "--scenario", "robustness", "--docs", "5", "--concurrency", "4", *condition)
        models = os.environ.get("PICTURES_MODELS")
        if models:
            (home / "medrgb/cache").mkdir(parents=True, exist_ok=True)
            (home / "medrgb/cache/models").symlink_to(Path(models).resolve())
        for name, (drive, size, theme, arguments, title) in STILLS.items():
            if wanted and name not in wanted:
                continue
            if name == "retrieval" and not models:
                print("retrieval.svg is left as it is: PICTURES_MODELS names no folder with an encoder", file=sys.stderr)
                continue
            terminal = Terminal(program, recorded if name == "instance" else home, size, theme, *arguments)
            try:
                terminal.until("32 questions" if name != "talk" else "next in")
                drive(terminal)
                write(folder / f"{name}.svg", render.still(terminal.settle(), *size, theme, title))
            finally:
                terminal.end()
        if not wanted or "demo" in wanted:
            write(folder / "demo.svg", tour(program, home))


def write(path, svg):
    """Puts a finished picture in its place at once."""
    fresh = path.with_suffix(".new")
    fresh.write_text(svg, encoding="utf-8")
    os.replace(fresh, path)
    print(f"{path.name}: {len(svg.encode()) / 1000:.0f} kB")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the terminal is ended then too
    program, *wanted = sys.argv[1:]
    known = {*STILLS, "demo"}
    if set(wanted) - known:
        sys.exit(f"no picture is called {', '.join(set(wanted) - known)}; there are {', '.join(sorted(known))}")
    try:
        make(shutil.which(program), Path(__file__).resolve().parent, set(wanted))
    except (Missing, subprocess.TimeoutExpired) as problem:
        sys.exit(f"pictures: {problem}")


main()
