"""Turns terminal screens, as `tmux capture-pane -ep` gives them, into SVG: stills and one film without scripts.

Text is placed run by run on a fixed grid of cells; lines of boxes, braille dots and blocks are drawn, so that they
join in every font. A film keeps each line of the screen once: a row is a strip of all that it ever shows, and a
stepwise animation moves the strip behind the row's window.
"""

import re
import unicodedata
from xml.sax.saxutils import escape

W, H, BASE = 8.4, 18, 13.4  # a cell and the place of its baseline, in pixels
PAD, BAR = 12, 34  # around the screen; the title bar
GAP = 24  # between the lines of a strip: more than a row, so that none shows through

THEMES = {
    "dark": {"bg": "#161a22", "fg": "#d4d8de", "bar": "#20252f", "edge": "#394150", "hint": "#9aa5b5"},
    "light": {"bg": "#fcfcfd", "fg": "#1f2430", "bar": "#eceff4", "edge": "#c3c9d4", "hint": "#565f6e"},
}
SIXTEEN = ("#1d2129 #cc5566 #5e9f45 #b0842c #4f7fd0 #9a6cc4 #3a93a8 #c8ccd4 "
           "#6b7382 #f7768e #9ece6a #e0af68 #7aa2f7 #bb9af7 #7dcfff #ffffff").split()
FONTS = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono','Noto Sans Mono',monospace"
PLAIN = (None, None, frozenset())  # ink, ground, attributes
ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}, 27: {"reverse"}, 29: {"strike"}}


def indexed(number):
    """A colour of the 256."""
    if number < 16:
        return SIXTEEN[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    parts = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


def restyle(style, codes):
    """The style after one SGR sequence."""
    ink, ground, attributes = style
    codes = [int(code or 0) for code in codes.replace(":", ";").split(";")]
    while codes:
        code = codes.pop(0)
        if code in (38, 48) and codes:
            if codes.pop(0) == 5:
                colour, codes = indexed(codes[0]), codes[1:]
            else:
                colour, codes = "#%02x%02x%02x" % tuple(codes[:3]), codes[3:]
            ink, ground = (colour, ground) if code == 38 else (ink, colour)
        elif code == 0:
            ink, ground, attributes = PLAIN
        elif code in ATTRIBUTES:
            attributes = attributes | {ATTRIBUTES[code]}
        elif code in ENDS:
            attributes = attributes - ENDS[code]
        elif 30 <= code <= 37 or 90 <= code <= 97:
            ink = SIXTEEN[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            ground = SIXTEEN[code - 40 if code < 100 else code - 92]
        elif code in (39, 49):
            ink, ground = (None, ground) if code == 39 else (ink, None)
    return ink, ground, attributes


def screen(text, columns, rows):
    """Rows of cells (character with its marks, width, style); styles go on from line to line, as tmux writes them."""
    style, grid = PLAIN, []
    for line in (text.split("\n") + [""] * rows)[:rows]:
        cells = []
        for sequence, character in re.findall(r"(\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\].*?(?:\x07|\x1b\\)|.))|(.)", line):
            if sequence:
                if sequence.endswith("m"):
                    style = restyle(style, sequence[2:-1])
            elif unicodedata.combining(character) or character in "\u200d\ufe0e\ufe0f":
                if cells:
                    cells[-1] = (cells[-1][0] + character, *cells[-1][1:])
            elif character >= " ":
                cells.append((character, 2 if unicodedata.east_asian_width(character) in "WF" else 1, style))
        grid.append(cells)
    return grid


def box(character):
    """Weights (0 none, 1 light, 2 heavy) of a box character's arms: left, up, right, down; else `None`."""
    if not "\u2500" <= character <= "\u257f" or character in "╱╲╳":
        return None
    arms, waiting = {}, []
    words = unicodedata.name(character).split()[2:]
    weights = {"LIGHT": 1, "SINGLE": 1, "HEAVY": 2, "DOUBLE": 2}
    common = weights.get(words[0])
    for word in words:
        for arm in {"HORIZONTAL": "LR", "VERTICAL": "UD"}.get(word, word[0] if word in "LEFT RIGHT UP DOWN" else ""):
            waiting.append(arm)
            arms[arm] = common or 1
        if word in weights and not common:
            arms.update({arm: weights[word] for arm in waiting})
            waiting = []
    return [arms.get(arm, 0) for arm in "LURD"]


def n(value):
    """A number in as few characters as it needs."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Sheet:
    """The styles of one picture: each is a class, in the order of first use."""

    def __init__(self, theme):
        self.theme, self.rules = THEMES[theme], {}

    def css(self, rule):
        return self.rules.setdefault(rule, f"s{len(self.rules)}")

    def colours(self, style):
        ink, ground, attributes = style
        ink = ink or self.theme["fg"]
        if "reverse" in attributes:
            return ground or self.theme["bg"], ink
        return ink, ground

    def text(self, style):
        attributes = style[2]
        rule = f"fill:{self.colours(style)[0]}"
        rule += ";font-weight:700" if "bold" in attributes else ""
        rule += ";font-style:italic" if "italic" in attributes else ""
        lines = [name for key, name in (("underline", "underline"), ("strike", "line-through")) if key in attributes]
        rule += f";text-decoration:{' '.join(lines)}" if lines else ""
        return self.css(rule + (";opacity:.65" if "dim" in attributes else ""))

    def row(self, cells):
        """One line of the screen, its top at 0."""
        grounds, strokes, blocks, texts, column = [], {}, [], [], 0
        run = None  # text in the making: column, characters, style
        for character, width, style in cells + [(" ", 1, None)] * 2:
            ground = self.colours(style)[1] if style else None
            if ground and grounds and grounds[-1][2] == ground and grounds[-1][1] == column:
                grounds[-1][1] += width
            elif ground:
                grounds.append([column, column + width, ground])
            simple = style and width == 1 and (character < "\u0500" or "\u2010" <= character <= "\u2027")
            if run and not (simple and style == run[2]) or run and character == " " and run[1].endswith(" "):
                texts.append(run)
                run = None
            if run:
                run[1] += character
            elif simple and character != " ":
                run = [column, character, style]
            elif style and not simple:
                self.symbol(character, width, style, column, strokes, blocks, texts)
            column += width
        out = [f'<rect x="{n(a * W)}" y="-.4" width="{n((b - a) * W)}" height="{H + .8}" fill="{fill}"/>'
               for a, b, fill in grounds] + blocks
        for css, path in strokes.items():
            path = [piece if isinstance(piece, str) else f"M{n(piece[0])} {H / 2:.0f}H{n(piece[1])}" for piece in path]
            out.append(f'<path class="{css}" d="{"".join(path)}"/>')
        return "".join(out + [self.run(*text) for text in texts])

    def run(self, column, characters, style):
        characters = characters.rstrip(" ")
        wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in characters)
        squeeze = "" if characters[0] < "\u2028" else ' lengthAdjust="spacingAndGlyphs"'
        return (f'<text x="{n(column * W)}" y="{BASE}" textLength="{n(wide * W)}"{squeeze} '
                f'class="{self.text(style)}">{escape(characters)}</text>')

    def symbol(self, character, width, style, column, strokes, blocks, texts):
        """What is drawn, or set alone because fonts differ in its width."""
        x, code = column * W, ord(character[0])
        colour, arms = self.colours(style)[0], box(character[0])
        if "dim" in style[2]:
            colour += "a6"
        if arms:
            middle, half = x + W / 2, H / 2
            for arm, weight in zip("LURD", arms):
                if not weight:
                    continue
                reach = .55 * weight  # half the line's width, so that corners are filled
                css = self.css(f"fill:none;stroke:{colour};stroke-width:{n(2 * reach)}")
                path = strokes.setdefault(css, [])
                if arm in "UD":
                    path.append(f"M{n(middle)} " + (f"-.5V{n(half + reach)}" if arm == "U" else f"{n(half - reach)}V{H + .5}"))
                    continue
                start, end = (x, middle + reach) if arm == "L" else (middle - reach, x + W)
                before = next((piece for piece in path if isinstance(piece, list) and piece[1] >= start - .1), None)
                if before:
                    before[1] = end
                else:
                    path.append([start, end])
        elif 0x2800 <= code <= 0x28FF:
            dots = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
            css = self.css(f"stroke:{colour};stroke-width:1.9;stroke-linecap:round")
            strokes.setdefault(css, []).extend(
                f"M{n(x + W * (.25 + .5 * a))} {n(H * (.125 + .25 * b))}h0"
                for bit, (a, b) in enumerate(dots) if code >> bit & 1)
        elif 0x2580 <= code <= 0x2593:
            part, shade, left, top, wide, tall = code - 0x2580, 1, 0, 0, 1, 1
            if part == 0:
                tall = .5
            elif part <= 8:
                top, tall = 1 - part / 8, part / 8
            elif part <= 15:
                wide = (16 - part) / 8
            elif part == 16:
                left, wide = .5, .5
            else:
                shade = (part - 16) / 4
            blocks.append(f'<rect x="{n(x + left * W)}" y="{n(top * H)}" width="{n(wide * W + .3)}" '
                          f'height="{n(tall * H)}" fill="{colour}" fill-opacity="{n(shade)}"/>')
        else:
            texts.append([column, character, style])


def frame(sheet, columns, rows, body, label, extra=""):
    """The window around a body, with the styles that it uses."""
    width, height, theme = n(columns * W + 2 * PAD), rows * H + BAR + PAD, sheet.theme
    css = "".join(f".{name}{{{rule}}}" for rule, name in sheet.rules.items())
    dots = "".join(f'<circle cx="{18 + 16 * i}" cy="17" r="4.5" fill="{theme["edge"]}"/>' for i in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{escape(label)}</title><style>text{{font:14px {FONTS};white-space:pre}}'
        f'{css}{extra}</style><rect x=".5" y=".5" width="{n(columns * W + 2 * PAD - 1)}" height="{height - 1}" rx="8" '
        f'fill="{theme["bg"]}" stroke="{theme["edge"]}"/><path d="M1 {BAR - 4}V9a8 8 0 0 1 8-8H{n(float(width) - 9)}'
        f'a8 8 0 0 1 8 8V{BAR - 4}z" fill="{theme["bar"]}"/>{dots}{body}</svg>\n')


def heading(sheet, columns, left, right=""):
    """The words of the title bar: what is shown, and at its end the keys that were pressed."""
    hint = sheet.css(f"fill:{sheet.theme['hint']}")
    bold = sheet.css(f"fill:{sheet.theme['fg']};font-weight:700;text-anchor:end")
    end = f'<text x="{n(columns * W)}" y="{BASE}" class="{bold}">{escape(right)}</text>' if right else ""
    return f'<text x="56" y="{BASE}" class="{hint}">{escape(left)}</text>{end}'


def still(text, columns, rows, theme, title):
    """A picture of one screen."""
    sheet = Sheet(theme)
    body = f'<g transform="translate({PAD} 8)">{heading(sheet, columns, title)}</g>'
    for at, cells in enumerate(screen(text, columns, rows)):
        body += f'<g transform="translate({PAD} {BAR + at * H})">{sheet.row(cells)}</g>'
    return frame(sheet, columns, rows, body, title)


def film(frames, columns, rows, theme, label, last):
    """A film of frames (second, screen, caption, keys), which stands `last` seconds at its end and begins anew."""
    sheet, strips = Sheet(theme), []
    shots = [(at, [heading(sheet, columns, caption, keys)] + [sheet.row(cells) for cells in screen(text, columns, rows)])
             for at, text, caption, keys in frames]
    whole = shots[-1][0] + last
    body, css, rest = "", "", ""
    for row in range(rows + 1):
        seen, moves = [], []
        for at, lines in shots:
            if lines[row] not in seen:
                seen.append(lines[row])
            index = seen.index(lines[row])
            if not moves or moves[-1][1] != index:
                moves.append((at, index))
        top = 8 if row == 0 else BAR + (row - 1) * H
        lines = "".join(f'<g transform="translate(0 {1 + at * GAP})">{line}</g>' if line else ""
                        for at, line in enumerate(seen))
        if len(moves) > 1:
            css += f".r{row}{{animation:r{row} {n(whole)}s step-end infinite}}@keyframes r{row}{{"
            css += "".join(f"{n(100 * at / whole)}%{{transform:translateY({-index * GAP}px)}}" for at, index in moves)
            css += "}"
            rest += f".r{row}{{transform:translateY({-moves[-1][1] * GAP}px)}}"
        body += (f'<svg x="{PAD}" y="{top - 1}" width="{n(columns * W)}" height="{H + 2}">'
                 f'<g class="r{row}">{lines}</g></svg>')
    body += (f'<rect class="t" x="{PAD}" y="{rows * H + BAR + 6}" width="{n(columns * W)}" height="2" '
             f'fill="{sheet.theme["edge"]}"/>')
    css += f".t{{animation:t {n(whole)}s linear infinite;transform-origin:{PAD}px 0}}@keyframes t{{0%{{transform:scaleX(0)}}}}"
    # Whoever wants no motion sees the end.
    css += f"@media (prefers-reduced-motion:reduce){{g,rect{{animation:none!important}}{rest}}}"
    return frame(sheet, columns, rows, body, label, css)
