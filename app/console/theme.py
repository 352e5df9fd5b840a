"""The console's own colours: one table per theme, used by the style sheet and by every painted line.

Greys are colours of at least 4.5:1 on every background they stand on (a test computes it); the terminal's *dim* is
never used. Meaning is never carried by colour alone.
"""

from rich.style import Style
from textual.theme import Theme

DARK: dict[str, str] = {
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

LIGHT: dict[str, str] = {
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

PALETTES: dict[str, dict[str, str]] = {"dark": DARK, "light": LIGHT}
BACKGROUNDS = ("base", "side", "card", "sel")
INKS = ("text", "grey", "amber", "green", "red", "blue", "bright")


def textual_theme(name: str) -> Theme:
    colours = PALETTES[name]
    return Theme(
        name=f"footplate-{name}",
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
        dark=name == "dark",
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
    colours = PALETTES[theme]
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
