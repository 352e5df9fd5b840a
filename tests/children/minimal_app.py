"""A Textual application of one label: what any console built on Textual waits for before it can show anything."""

from textual.app import App, ComposeResult
from textual.widgets import Label


class MinimalApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Label("footplate")


if __name__ == "__main__":
    MinimalApp().run()
