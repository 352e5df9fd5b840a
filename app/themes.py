"""Names of the themes, for who reads the configuration and must not load Textual. The colours are the console's."""

from typing import Final

OWN: Final = ("dark", "light", "high-contrast")
OF_TEXTUAL: Final = (
    "textual-dark",
    "textual-light",
    "nord",
    "gruvbox",
    "catppuccin-mocha",
    "dracula",
    "tokyo-night",
    "monokai",
    "flexoki",
    "catppuccin-latte",
    "catppuccin-frappe",
    "catppuccin-macchiato",
    "solarized-light",
    "solarized-dark",
    "rose-pine",
    "rose-pine-moon",
    "rose-pine-dawn",
    "atom-one-dark",
    "atom-one-light",
)
"""Every one whose colours are known. Its two ``ansi`` ones are the terminal's colours, whatever those are: whether they
can be read can not be computed."""
NAMES: Final = (*OWN, *OF_TEXTUAL)
