"""The console's colours: one table per theme, used by the style sheet and by every painted line.

An ink is a colour of at least 4.5:1 on every background it can stand on, whoever made the theme (a test computes it);
the terminal's *dim* is never used. Of a theme of Textual's its hues are taken, moved towards white or black as far as
that takes. Meaning is never carried by colour alone.
"""

from functools import lru_cache

from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

Palette = dict[str, str]

DARK: Palette = {
    "base": "#101315",
    "side": "#15191c",
    "card": "#1c2226",
    "sel": "#273036",
    "text": "#d7dde0",
    "grey": "#93a0a8",
    "faint": "#38434a",
    "amber": "#e8b65a",
    "green": "#8cc873",
    "red": "#f07f7f",
    "blue": "#82bbdc",
    "bright": "#f3f6f7",
}

LIGHT: Palette = {
    "base": "#fbfaf7",
    "side": "#f2f0ea",
    "card": "#eae7de",
    "sel": "#dcd8cb",
    "text": "#24292c",
    "grey": "#525b60",
    "faint": "#c3beb0",
    "amber": "#7d5200",
    "green": "#2c641c",
    "red": "#a82020",
    "blue": "#1d567c",
    "bright": "#0a0d0f",
}

HIGH_CONTRAST: Palette = {
    "base": "#000000",
    "side": "#0c0c0c",
    "card": "#161616",
    "sel": "#12325c",
    "text": "#ffffff",
    "grey": "#d0d0d0",
    "faint": "#8c8c8c",
    "amber": "#ffd24d",
    "green": "#7dff7d",
    "red": "#ffb3b3",
    "blue": "#8fd4ff",
    "bright": "#ffffff",
}
"""At least 7:1, and a selection that is a colour and not a shade."""

MONO: Palette = {
    "base": "#000000",
    "side": "#000000",
    "card": "#000000",
    "sel": "#808080",
    "text": "#c0c0c0",
    "grey": "#c0c0c0",
    "faint": "#c0c0c0",
    "amber": "#ffffff",
    "green": "#c0c0c0",
    "red": "#ffffff",
    "blue": "#ffffff",
    "bright": "#ffffff",
}
"""For NO_COLOR; none of it is ever sent. ``plainlook`` takes white for bold, and a background that is not black for
reverse."""

PALETTES: dict[str, Palette] = {"dark": DARK, "light": LIGHT, "high-contrast": HIGH_CONTRAST}
BACKGROUNDS = ("base", "side", "card", "sel")
INKS = ("text", "grey", "amber", "green", "red", "blue", "bright")

LEAST = 4.5
LEAST_TEXT = 6.0
"""What is read most stands out from what is grey."""
LEAST_BRIGHT = 8.0
_PREFIX = "footplate-"


@lru_cache(maxsize=64)
def palette(name: str) -> Palette:
    """The colours of a theme; ours, Textual's, or those for no colours at all."""
    if name == "mono":
        return MONO
    return PALETTES[name] if name in PALETTES else palette_of(BUILTIN_THEMES[name])


def is_dark(name: str) -> bool:
    return luminance(Color.parse(palette(name)["base"])) < 0.2


def luminance(colour: Color) -> float:
    """As WCAG has it."""
    parts = [part / 255 for part in colour.rgb]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palette_of(theme: Theme) -> Palette:
    """A theme of somebody else in our names: its hues, each as far towards white or black as reading needs."""
    system = theme.to_color_system().generate()

    def its(name: str) -> Color:
        return Color(*Color.parse(system[name]).rgb)

    base, text = its("background"), its("foreground")
    pole = Color(255, 255, 255) if luminance(base) < 0.2 else Color(0, 0, 0)
    card, sel = its("surface"), its("panel")
    if contrast(card, base) < 1.04:
        card = base.blend(text, 0.06)
    grounds = {"base": base, "side": base.blend(card, 0.5), "card": card, "sel": _apart(sel, card, base, pole)}
    against = tuple(grounds.values())
    text = _readable(text, against, pole, LEAST_TEXT)
    inks = {
        "text": text,
        "grey": _readable(text.blend(base, 0.45), against, pole, LEAST),
        "bright": _readable(text.blend(pole, 0.5), against, pole, LEAST_BRIGHT),
        "amber": _readable(its("warning"), against, pole, LEAST),
        "green": _readable(its("success"), against, pole, LEAST),
        "red": _readable(its("error"), against, pole, LEAST),
        "blue": _readable(its("primary"), against, pole, LEAST),
    }
    found = {**grounds, **inks, "faint": base.blend(text, 0.25)}
    return {name: colour.hex.lower() for name, colour in found.items()}


def _apart(sel: Color, card: Color, base: Color, pole: Color) -> Color:
    """What is lit differs from what it can lie on, and leaves room for ink: neither too little nor too far."""
    for _ in range(40):
        if min(contrast(sel, card), contrast(sel, base)) >= 1.15:
            break
        sel = sel.blend(pole, 0.04)
    for _ in range(40):
        if contrast(sel, base) <= 2.0:
            break
        sel = sel.blend(base, 0.1)
    return sel


def _readable(ink: Color, grounds: tuple[Color, ...], pole: Color, least: float) -> Color:
    for step in range(51):
        moved = Color(*ink.blend(pole, step / 50).rgb)
        if all(contrast(moved, ground) >= least for ground in grounds):
            return moved
    return pole


def textual_name(name: str) -> str:
    return _PREFIX + name


def name_of(textual: str) -> str:
    """The theme that Textual was told to use, by our name for it."""
    return textual.removeprefix(_PREFIX)


def textual_theme(name: str) -> Theme:
    colours = palette(name)
    return Theme(
        name=textual_name(name),
        primary=colours["blue"],
        secondary=colours["blue"],
        warning=colours["amber"],
        error=colours["red"],
        success=colours["green"],
        accent=colours["amber"],
        foreground=colours["text"],
        background=colours["base"],
        surface=colours["base"],
        panel=colours["side"],
        boost=colours["card"],
        dark=is_dark(name),
        text_alpha=1.0,
        variables={f"fp-{key}": value for key, value in colours.items()}
        | {
            "scrollbar": colours["faint"],
            "scrollbar-hover": colours["grey"],
            "scrollbar-active": colours["grey"],
            "scrollbar-background": colours["base"],
            "scrollbar-background-hover": colours["base"],
            "scrollbar-background-active": colours["base"],
            "scrollbar-corner-color": colours["base"],
        },
    )


def style_of(ink: str, theme: str = "dark") -> Style:
    """Words of an ink: a colour, ``strong`` for bold, ``on-<background>``; unknown words are a mistake and raise."""
    colours = palette(theme)
    style = Style()
    for word in ink.split():
        if word == "strong":
            style += Style(bold=True)
        elif word == "reverse":
            style += Style(reverse=True)
        elif word.startswith("on-"):
            style += Style(bgcolor=colours[word[3:]])
        else:
            style += Style(color=colours[word])
    return style
