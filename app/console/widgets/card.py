"""The decision card on the screen: which key counts, and what it then means. The rules are console.md's, *The card*.

A key is weighed only 60 ms after it came, against the very card that was painted when it was pressed; whatever is not
taken is said on the card. What a card says and how it folds is the view's business.
"""

from collections.abc import Callable, Hashable

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from app.console.messages import Answered, CardLeft, Entered, ExtendWanted, LeftText, OtherWaiting, Wanted
from app.console.presses import ALONE, PAINTED, KeyGate
from app.console.views import form as forms
from app.console.views.card import (
    CardPicture,
    CardState,
    Face,
    Option,
    card_picture,
    command_of,
    editable_text,
    edited_input,
    face_of,
    unanswered_words,
)
from app.console.views.form import Form
from app.console.views.glyphs import Glyphs
from app.console.views.limits import asked_for, extension, limit_face, limit_of, typed_extension
from app.console.widgets.lines import Lines
from app.console.widgets.writing import Writing
from coordinator.api import DecisionView, SessionView
from coordinator.drivers.base import Allow, Chosen, Deny, QuestionReply

TOO_SOON = "too soon, press again"
NOT_ALONE = "other keys came with it: not taken, press again"
FOR_THE_ONE_BEFORE = "that key was for the card before: not taken"


class CardFace(Lines, can_focus=True):
    """Takes the keys while it has the focus."""

    def on_key(self, event: events.Key) -> None:
        card = self.parent
        if isinstance(card, Card) and card.take_key(event.key, event.character, event.time):
            event.stop()
            event.prevent_default()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if isinstance(self.parent, Card):
            self.parent.scroll_body(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if isinstance(self.parent, Card):
            self.parent.scroll_body(-1)


class Card(Vertical):
    DEFAULT_CSS = """
    Card { height: auto; background: $fp-card; display: none; }
    Card.-shown { display: block; }
    Card CardFace { padding: 0 1; border-left: outer $fp-card; }
    Card CardFace:focus { border-left: outer $fp-amber; }
    Card Writing { margin: 0 2; padding: 0 1; background: $fp-sel; display: none; }
    Card Writing.-shown { display: block; }
    """

    def __init__(self, gate: KeyGate, monotonic: Callable[[], float], glyphs: Glyphs, home: str) -> None:
        super().__init__(id="card")
        self._gate = gate
        self._monotonic = monotonic
        self._glyphs = glyphs
        self._home = home
        self.face_widget = CardFace(id="card-face")
        self.note = Writing(gate, id="card-note")
        self.decision: DecisionView | None = None
        self._session: SessionView | None = None
        self._form: Form | None = None
        self._edited: str | None = None
        self._purpose = ""
        """What the open text is for: ``why``, ``revise``, ``own-words``, ``note`` or ``edit``."""
        self._state = CardState(focused=False)
        self._opened = False
        self._picture: CardPicture | None = None
        self._face: Face | None = None
        self._identity: Hashable = None
        self._painted_at: float | None = None
        self._max_height = 8

    def compose(self) -> ComposeResult:
        yield self.face_widget
        yield self.note

    # ------------------------------------------------------------------------------------------------- what is shown

    @property
    def shown(self) -> bool:
        return self._face is not None

    @property
    def opened(self) -> bool:
        return self._opened

    @property
    def writing(self) -> bool:
        """A reason, an answer or a note is being written on it."""
        return bool(self._purpose)

    @property
    def folded(self) -> bool:
        """There is more of it than is shown, or was until it was opened."""
        return self._opened or (self._picture is not None and self._picture.max_offset > 0)

    @property
    def digits(self) -> int:
        """The highest digit that it takes; 0 where nothing is asked."""
        keys = [one.key for one in self._face.options] if self._face is not None else []
        return max((int(key) for key in keys if key.isdigit()), default=0)

    @property
    def said(self) -> str:
        return self._state.said

    @property
    def ripe(self) -> bool:
        """Painted for long enough that a key counts."""
        return self._painted_at is not None and self._monotonic() - self._painted_at >= PAINTED

    @property
    def whole(self) -> bool:
        """Every row of it is on the screen: what was not shown is not answered."""
        region = self.face_widget.region
        room = self.screen.region if not isinstance(self.parent, Widget) else self.parent.region
        return region.height >= len(self.face_widget.rows) and room.contains_region(region)

    def show(
        self,
        session: SessionView | None,
        decision: DecisionView | None,
        *,
        place: int,
        count: int,
        others: bool,
        waited: str,
        max_height: int,
        limited: bool = False,
        draft: bool = False,
    ) -> None:
        """Show this decision, or what may be done at a session's limit; nothing for neither."""
        limit = decision is None and session is not None and limited
        self._session, self._max_height = session, max_height
        about = (
            None
            if session is None or (decision is None and not limit)
            else (session.run, decision.id if decision else limit_of(session))
        )
        before = None if self._session_key is None else self._session_key
        if about != before:
            self._session_key = about
            self._form = forms.new_form(decision.questions) if decision is not None and decision.questions else None
            self._edited, self._opened = None, False
            late = FOR_THE_ONE_BEFORE if self._weighing else ""
            self._state = CardState(focused=False, said=late if about is not None else "")
            self._leave_text(before)
        self.decision = decision
        self._state = replace(self._state, place=place, count=count, others=others, waited=waited, draft=draft)
        self._draw()

    _session_key: Hashable = None
    _weighing = 0

    def _draw(self) -> None:
        session = self._session
        if self._session_key is None or session is None:
            self._face = self._picture = None
            self._identity = self._painted_at = None
            self.remove_class("-shown")
            return
        width = max(self.size.width - 3, 20) if self.size.width else 60
        if self.decision is not None:
            self._face = face_of(self.decision, self._form, self._edited, session, width - 2, self._glyphs, self._home)
        else:
            self._face = limit_face(session, width - 2)
        state = replace(self._state, focused=self.face_widget.has_focus)
        height = self._max_height - (self.note.size.height if self._purpose else 0)
        self._picture = card_picture(self._face, state, width, max(height, 6), self._glyphs)
        seen = max(state.seen, min(state.offset, self._picture.max_offset) + self._picture.body_rows)
        self._state = replace(state, offset=min(state.offset, self._picture.max_offset), seen=seen)
        self.face_widget.put(self._picture.lines)
        self.add_class("-shown")
        identity = self._identity_now()
        if identity != self._identity:
            self._identity = identity
            self.begin_painting()

    def _identity_now(self) -> Hashable:
        one = self.decision
        at = self._form.at if self._form is not None else 0
        about = (one.id, one.revision, one.payload_hash) if one is not None else ()
        return self._session_key, about, at, self._edited

    def begin_painting(self) -> None:
        """The half second begins anew: another card, or this one came back from under something."""
        self._painted_at = None
        if self._face is not None:
            self.call_after_refresh(self._painted, self._identity)

    def _painted(self, identity: Hashable) -> None:
        if identity == self._identity and self._painted_at is None and self.screen.is_current:
            self._painted_at = self._monotonic()

    def say(self, words: str) -> None:
        self._state = replace(self._state, said=words)
        self._draw()

    def busy(self, words: str) -> None:
        self._state = replace(self._state, busy=words)
        self._draw()

    def on_resize(self) -> None:
        # Rows that were seen at another width say nothing about what was seen.
        self._state = replace(self._state, seen=0)
        self._draw()

    def on_descendant_focus(self) -> None:
        self._draw()

    def on_descendant_blur(self) -> None:
        self._draw()

    def scroll_body(self, by: int) -> None:
        self._state = replace(self._state, offset=max(self._state.offset + by, 0), said="")
        self._draw()

    def focus_card(self) -> None:
        (self.note if self._purpose else self.face_widget).focus()

    # -------------------------------------------------------------------------------------------------------- keys

    def take_key(self, key: str, character: str | None, at: float) -> bool:
        """A key on the focused card; True when it is the card's."""
        if self._face is None or self._picture is None:
            return False
        step = max(self._picture.body_rows - 1, 1)
        moves = {"down": 1, "up": -1, "pagedown": step, "pageup": -step}
        if key == "escape":
            self.post_message(CardLeft())
            return True
        if key == "tab":
            self.post_message(CardLeft())
            return True
        if key in moves:
            if (
                self._form is not None
                and self._form.questions[self._form.at].choices
                and key in ("up", "down")
                and self._picture.alive
            ):
                self._form = forms.move(self._form, moves[key])
                self._keep_cursor(moves[key])
                self._draw()
            else:
                self.scroll_body(moves[key])
            return True
        if key in ("left", "right") and self._form is not None:
            self._form = forms.turn_to(self._form, 1 if key == "right" else -1)
            self._state = replace(self._state, offset=0, seen=0, said="")
            self._draw()
            return True
        if (character is None or not character.isprintable()) and key not in ("enter", "space"):
            return False
        if self._painted_at is None or at - self._painted_at < PAINTED:
            self.say(TOO_SOON)
            return True
        identity = self._identity
        self._weighing += 1
        self.set_timer(ALONE, lambda: self._weigh(key, character or key, at, identity))
        return True

    def _keep_cursor(self, by: int) -> None:
        if self._picture is not None and self._picture.max_offset:
            self._state = replace(self._state, offset=max(self._state.offset + by, 0))

    def _weigh(self, key: str, character: str, at: float, identity: Hashable) -> None:
        self._weighing -= 1
        if self._face is None:
            return
        if identity != self._identity:
            self.say(FOR_THE_ONE_BEFORE)
        elif not self._gate.came_alone(at):
            self.say(NOT_ALONE)
        elif not self.whole:
            self.say("this window is too low to answer in: make it higher")
        elif not self.face_widget.has_focus or self._state.busy:
            return
        else:
            self._act(key, character)

    def _act(self, key: str, character: str) -> None:
        face, picture = self._face, self._picture
        if face is None or picture is None:
            return
        if character in "[]":
            self.post_message(OtherWaiting(1 if character == "]" else -1))
            return
        if character == "o":
            self._opened = not self._opened
            self.post_message(Wanted("fit"))
            return
        option = next((one for one in face.options if one.key == character), None)
        if not picture.alive and not (option is not None and option.safe):
            self.say("not all of it was seen: ↓ or PgDn to its end first")
            return
        if option is not None:
            self._choose(option)
        elif character == "e" and self.decision is not None and self.decision.editable:
            self._edit()
        elif character == "n" and self._form is not None:
            self._open_text("note", self._form.note, "a note that goes with the answer; Enter keeps it")
        elif key == "space" and self._form is not None:
            self._form = forms.toggle(self._form)
            self.say("" if self._form.cursor is not None else "↓ first, then Space chooses")
        elif key == "enter" and self._form is not None:
            self._send_form()
        else:
            self.say("that key does nothing here")

    def _choose(self, option: Option) -> None:
        if option.verb in ("finish", "interrupt", "stop"):
            self.post_message(Wanted(option.verb))
            return
        if option.verb in ("extend", "extend-by"):
            self._extend(option.verb)
            return
        decision = self.decision
        if decision is None:
            return
        match option.verb:
            case "allow":
                self._allow(decision)
            case "allow-run":
                self.post_message(Answered(decision, Allow(for_run=True)))
            case "offer":
                self.post_message(Answered(decision, Chosen(offer=option.offer)))
            case "approve":
                self.post_message(Answered(decision, Allow()))
            case "deny":
                self.post_message(Answered(decision, Deny()))
            case "deny-why":
                self._open_text("why", "", "why not; Enter denies and says it")
            case "revise":
                self._open_text("revise", "", "what to change; Enter sends the plan back")
            case "own-words":
                self._open_text(
                    "own-words", self._form.free[self._form.at] if self._form else "", "your answer; Enter takes it"
                )
            case "choose" if self._form is not None:
                self._form = forms.pick(self._form, option.choice)
                self._after_form()
            case _:
                pass

    def _extend(self, verb: str) -> None:
        session = self._session
        if session is None:
            return
        if verb == "extend-by":
            self._open_text("extend", "", f"{asked_for(session)}; Enter extends")
        else:
            self.post_message(ExtendWanted(extension(session)))

    def _extend_by(self, text: str) -> None:
        session = self._session
        if session is None:
            return
        command = typed_extension(session, text)
        if isinstance(command, str):
            self.say(command)
        else:
            self.post_message(ExtendWanted(command))

    def _allow(self, decision: DecisionView) -> None:
        if self._edited is None:
            self.post_message(Answered(decision, Allow()))
            return
        changed = edited_input(decision, self._edited)
        if isinstance(changed, str):
            self.say(changed)
        else:
            self.post_message(Answered(decision, Allow(edited_input=changed)))

    def _after_form(self) -> None:
        form = self._form
        if form is None or self.decision is None:
            return
        if forms.simple(form) and forms.complete(form):
            self.post_message(Answered(self.decision, forms.reply(form)))
            return
        self._state = replace(self._state, offset=0)
        self.say("all answered: Enter sends" if forms.complete(form) and len(form.questions) > 1 else "")

    def _send_form(self) -> None:
        form, decision = self._form, self.decision
        if form is None or decision is None:
            return
        if not forms.complete(form) and not form.told:
            self._form = forms.tell(form)
            self.say(unanswered_words(form))
            return
        self.post_message(Answered(decision, forms.reply(form)))

    # ------------------------------------------------------------------------------------------ texts in the card

    def _edit(self) -> None:
        decision = self.decision
        if decision is None:
            return
        text = self._edited if self._edited is not None else editable_text(decision)
        if any(not character.isprintable() and character not in "\n\t" for character in text):
            self.say("it holds control characters: it can not be edited here")
            return
        kind = "the command" if command_of(decision.input) is not None else "its input, as JSON"
        self._open_text("edit", text, f"{kind}; Enter shows it on the card, nothing runs yet")

    def _open_text(self, purpose: str, text: str, told: str) -> None:
        """``told``: what is to be written; and what Enter does with it, behind ``; Enter``."""
        self._purpose = purpose
        self.note.placeholder, _, enter = told.partition("; Enter ")
        self.note.set_text(text)
        self.note.add_class("-shown")
        self._state = replace(self._state, said="", writing=enter or "takes it")
        self.note.focus()
        self._draw()

    on_text_left: Callable[[Hashable, str], None] = staticmethod(lambda run, text: None)
    """Takes what was being written on a card that is no more, and the keys with it; set by the app."""

    def _leave_text(self, before: Hashable) -> None:
        """The request left under somebody who writes to it: what comes next would be keys on another card."""
        writing, text = bool(self._purpose) and self.note.has_focus, self.note.text
        self._close_text()
        if writing and isinstance(before, tuple):
            self.on_text_left(before[0], text)

    def _close_text(self) -> None:
        had = self.note.has_focus
        self._purpose = ""
        self._state = replace(self._state, writing="")
        self.note.remove_class("-shown")
        if had:
            self.face_widget.focus()

    def on_left_text(self, message: LeftText) -> None:
        message.stop()
        self._close_text()
        self.say("")

    def on_entered(self, message: Entered) -> None:
        message.stop()
        purpose, text, decision = self._purpose, message.text.strip("\n"), self.decision
        self._close_text()
        self._state = replace(self._state, said="")
        if purpose == "extend":
            self._extend_by(text)
            return
        if decision is None:
            return
        match purpose:
            case "why" | "revise":
                self.post_message(Answered(decision, Deny(message=text)))
            case "edit":
                changed = edited_input(decision, text)
                if isinstance(changed, str):
                    self._open_text("edit", text, "")
                    self.say(changed)
                    return
                self._edited = text if text != editable_text(decision) else None
            case "note" if self._form is not None:
                self._form = replace(self._form, note=text)
            case "own-words" if self._form is not None:
                self._form = forms.say(self._form, text)
                self._after_form()
            case "own-words" if text.strip():
                self.post_message(
                    Answered(decision, QuestionReply(answers={decision.subject or decision.title: (text,)}))
                )
            case _:
                pass
        self._draw()
