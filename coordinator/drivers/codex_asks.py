"""The approvals that the agent asks for, in our form, with the JSON of every answer beside it.

Only options that the agent takes for this request are offered. What *for the run* may cover is decided here: a rule on
how a command begins is offered only where it can hold, and it says what it covers and how long the agent keeps it.
"""

import json
import re
from typing import Final

from coordinator.drivers import codex_items, codex_questions
from coordinator.drivers.asks import (
    Act,
    ActKind,
    Allow,
    Answer,
    Chosen,
    DecisionAsked,
    Deny,
    Offer,
    OfferKind,
    QuestionReply,
)
from coordinator.drivers.codex_questions import ask_of, speaker
from coordinator.drivers.codex_state import Ask, State
from coordinator.drivers.json_fields import Json, mapping, objects, text, word, words
from coordinator.drivers.jsonrpc import Request, key
from store.vocab import DecisionKind

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=@%+,-]+\Z")
_COMPOUND: Final = re.compile(r"&&|;|\||\$\(|`|\n|\r|>|&|<\(|<<")
"""A rule on how a command begins cannot hold what follows any of these."""
_RUNS_ANYTHING: Final = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "fish", "env", "sudo", "doas", "su", "xargs", "nohup", "setsid", "time"}
    | {"python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "find", "ssh", "docker", "npx", "uvx", "make"}
    | {"eval", "exec", "command", "timeout", "nice", "watch"}
)
"""What begins with one of these alone may be any command at all."""
_NAMES: Final = {"accept": "accept", "acceptForSession": "session", "decline": "decline", "cancel": "cancel"}


def asked(state: State, request: Request) -> tuple[DecisionAsked, Ask] | None:
    """What is put to the operator, and what is remembered of it; None for a request that nobody here knows."""
    params = request.params
    match request.method:
        case "item/commandExecution/requestApproval":
            return _command(state, key(request.id), params)
        case "item/fileChange/requestApproval":
            return _files(state, key(request.id), params)
        case "item/permissions/requestApproval":
            return _access(state, key(request.id), params)
        case "item/tool/requestUserInput":
            return codex_questions.asked(state, key(request.id), params)
        case "mcpServer/elicitation/request" if text(params, "mode") in ("form", "openai/form", "openaiForm"):
            return codex_questions.form(state, key(request.id), params)
        case _:
            return None


def body(ask: Ask | None, answer: Answer) -> str:
    """The JSON that carries this answer. What does not fit is never made an allowance: it is answered as cancelled."""
    if ask is None:
        return '{"decision":"cancel"}'
    match answer:
        case Chosen():
            return ask.answers.get(answer.offer, ask.cancel)
        case Allow():
            return ask.answers.get("session" if answer.for_run else "accept", ask.cancel)
        case Deny():
            return ask.answers.get("cancel" if answer.interrupt else "decline", ask.cancel)
        case QuestionReply():
            return codex_questions.reply(ask, answer) if ask.kind in ("question", "form") else ask.cancel


# ------------------------------------------------------------------------------------------------------------ approvals


def _command(state: State, request: str, params: Json) -> tuple[DecisionAsked, Ask]:
    item = state.items.get(text(params, "itemId"))
    command = codex_items.inner(text(params, "command")) or (item.subject if item else "")
    network = mapping(params, "networkApprovalContext")
    given: Json = {"command": command}
    for name in ("cwd", "additionalPermissions", "networkApprovalContext"):
        if params.get(name):
            given[name] = params[name]
    title, subject = "Run a command?", command
    if network:
        title = "Connect to a host?"
        host = f"{text(network, 'protocol')} {text(network, 'host')}".strip()
        subject = f"{host}\n{command}".strip()
    elif text(params, "kind") == "writeStdin":
        title = "Type into a running command?"
    offers, answers = _command_offers(command, params)
    beyond = mapping(params, "additionalPermissions")
    event = DecisionAsked(
        request=request,
        kind=DecisionKind.PERMISSION,
        title=title,
        tool="shell",
        call=word(params, "itemId"),
        input=given,
        subject=subject,
        why=" · ".join(
            part for part in (text(params, "reason"), f"beyond its sandbox: {access(beyond)}" if beyond else "") if part
        ),
        agent=speaker(state, params),
        offers=offers,
        act=_command_act(params, command),
    )
    return event, ask_of("permission", params, answers)


def _command_act(params: Json, command: str) -> Act | None:
    """None where more than this command is asked for: a rule would allow what it did not read."""
    more = params.get("additionalPermissions") or params.get("networkApprovalContext")
    if not command or more or text(params, "kind") not in ("", "command"):
        return None
    return Act(kind=ActKind.COMMAND, command=command, cwd=text(params, "cwd"))


def _command_offers(command: str, params: Json) -> tuple[tuple[Offer, ...], dict[str, str]]:
    told = params.get("availableDecisions")
    decisions = told if isinstance(told, list) else ["accept", "decline", "cancel"]
    offers: list[Offer] = []
    answers: dict[str, str] = {}
    for decision in decisions:
        if isinstance(decision, str) and decision in _NAMES:
            answers[_NAMES[decision]] = json.dumps({"decision": decision})
        if decision == "accept":
            offers.append(Offer(id="accept", label="allow once", kind=OfferKind.ALLOW))
        elif decision == "acceptForSession":
            covers = "this very command"
            offers.append(Offer(id="session", label="allow for the session", kind=OfferKind.ALLOW_RUN, covers=covers))
        elif isinstance(decision, dict):
            _add_rule(command, decision, offers, answers)
    # The agent takes a plain no for every command, though it does not always list it; without it only the turn's end
    # would be left to say no with.
    answers.setdefault("decline", '{"decision":"decline"}')
    answers.setdefault("cancel", '{"decision":"cancel"}')
    offers.append(Offer(id="decline", label="deny", kind=OfferKind.DENY))
    offers.append(Offer(id="cancel", label="deny, and end the turn", kind=OfferKind.DENY_STOP))
    return tuple(offers), answers


def _add_rule(command: str, decision: Json, offers: list[Offer], answers: dict[str, str]) -> None:
    prefix = words(mapping(decision, "acceptWithExecpolicyAmendment"), "execpolicy_amendment")
    if prefix and _holds(command, prefix):
        said = " ".join(prefix)
        covers = f"commands that begin with {said}, in this run and, as Codex keeps the rule, in later ones"
        offers.append(Offer(id="rule", label="always allow", kind=OfferKind.ALLOW_RUN, covers=covers))
        answers["rule"] = json.dumps({"decision": decision})
    network = mapping(mapping(decision, "applyNetworkPolicyAmendment"), "network_policy_amendment")
    host, allows = text(network, "host"), text(network, "action") == "allow"
    if host and _PLAIN.match(host):
        name = "host" if allows else "no-host"
        label = "allow for the session" if allows else "deny for the session"
        kind = OfferKind.ALLOW_RUN if allows else OfferKind.DENY
        offers.append(Offer(id=name, label=label, kind=kind, covers=f"every connection to {host}"))
        answers[name] = json.dumps({"decision": decision})


def _holds(command: str, prefix: list[str]) -> bool:
    """Whether a rule on this beginning covers what it says and no more."""
    if _COMPOUND.search(command) or not all(_PLAIN.match(part) for part in prefix):
        return False
    first = prefix[0].rpartition("/")[2]
    return len(prefix) > 1 and first not in _RUNS_ANYTHING and command.split()[: len(prefix)] == prefix


def _files(state: State, request: str, params: Json) -> tuple[DecisionAsked, Ask]:
    item = state.items.get(text(params, "itemId"))
    root = text(params, "grantRoot")
    subject = (item.subject if item else "") or root
    why = [text(params, "reason"), f"and then to write under {root} unasked" if root else ""]
    answers = {ours: json.dumps({"decision": theirs}) for theirs, ours in _NAMES.items()}
    covers = f"writing under {root}" if root else "later changes to the same files"
    offers = (
        Offer(id="accept", label="allow once", kind=OfferKind.ALLOW),
        Offer(id="decline", label="deny", kind=OfferKind.DENY),
        Offer(id="session", label="allow for the session", kind=OfferKind.ALLOW_RUN, covers=covers),
        Offer(id="cancel", label="deny, and end the turn", kind=OfferKind.DENY_STOP),
    )
    event = DecisionAsked(
        request=request,
        kind=DecisionKind.PERMISSION,
        title="Edit a file?" if item and len(item.paths) == 1 else "Edit files?",
        tool="apply_patch",
        call=word(params, "itemId"),
        input={"paths": item.paths} if item else {},
        subject=subject,
        why=" · ".join(part for part in why if part),
        blocked_path=root or None,
        agent=speaker(state, params),
        offers=offers,
        act=Act(kind=ActKind.EDIT, paths=tuple(item.paths)) if item and item.paths and not root else None,
    )
    return event, ask_of("permission", params, answers)


def _access(state: State, request: str, params: Json) -> tuple[DecisionAsked, Ask]:
    wanted = mapping(params, "permissions")
    granted = {name: value for name, value in wanted.items() if name in ("fileSystem", "network") and value}
    answers = {
        "accept": json.dumps({"permissions": granted, "scope": "turn"}),
        "session": json.dumps({"permissions": granted, "scope": "session"}),
        "decline": json.dumps({"permissions": {}, "scope": "turn"}),
    }
    covers = access(wanted)
    offers = (
        Offer(id="accept", label="allow for this turn", kind=OfferKind.ALLOW),
        Offer(id="decline", label="deny", kind=OfferKind.DENY),
        Offer(id="session", label="allow for the session", kind=OfferKind.ALLOW_RUN, covers=covers),
    )
    event = DecisionAsked(
        request=request,
        kind=DecisionKind.PERMISSION,
        title="Give it more access?",
        tool="permissions",
        call=word(params, "itemId"),
        input=wanted,
        subject=covers,
        why=text(params, "reason"),
        agent=speaker(state, params),
        offers=offers,
    )
    ask = ask_of("permission", params, answers)
    ask.cancel = answers["decline"]
    return event, ask


def access(profile: Json) -> str:
    """Wider access, in words."""
    files, network = mapping(profile, "fileSystem"), mapping(profile, "network")
    said = [f"write {path}" for path in words(files, "write")] + [f"read {path}" for path in words(files, "read")]
    said += [json.dumps(entry, sort_keys=True) for entry in objects(files, "entries")]
    if network.get("enabled") is True:
        said.append("the network")
    return ", ".join(said) or json.dumps(profile, sort_keys=True)
