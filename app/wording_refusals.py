"""One sentence for every expected *no*: what is the case, with the facts found, and what to do about it.

Reached through ``app.wording``. A key that is off and a command that is refused say the same sentence, from here.

The sentences are templates (``wording_templates``), so that each stands whatever facts it is given; those of the queue
are in ``wording_taskrefusals``.
"""

from app.wording_measures import others_words, short_path
from app.wording_taskrefusals import OF_A_TASK, REFUSALS
from app.wording_templates import filled
from store.refusal import Refusal
from store.vocab import RefusalReason

_R = RefusalReason

_TEMPLATES: dict[RefusalReason, str] = {
    _R.STOPPED: "This run was stopped by you before it could start; start it again if you still want it.",
    _R.SHUTTING_DOWN: "The console is closing, so nothing new is begun; open it again and repeat this.",
    _R.UNTRIED_PLATFORM: (
        "Nobody has run sessions on {system|this system} yet, and a stop proves less there: a program that leaves its "
        "parents between two looks, and whose environment cannot be read, stays unseen; "
        "to start them all the same, set {variable|FOOTPLATE_UNTRIED_PLATFORM}=1 (to look through a ledger, nothing)."
    ),
    _R.SOCKET_PATH: (
        "The path {path|of a socket} is too long for a socket ({length|too many} bytes, {limit|107} at most); "
        "set FOOTPLATE_HOME to a shorter folder."
    ),
    _R.AUTHORIZATION_CLOSED: "These terms are no longer in force[ ({reason,why:ending})]; start again under new terms.",
    _R.AUTHORIZATION_UNBOUND: "These terms belong to no run; start again, and report it if this comes back.",
    _R.AUTHORIZATION_SPENT: "These terms have already started {run:run|another run}; start again under new terms.",
    _R.TERMS_UNREADABLE: "The saved terms cannot be read[ ({problem})]; start again under new terms.",
    _R.TERMS_MOVED: (
        "What would run is not what you agreed to: the {field:field|terms} was {was|empty} and is {is|empty}; "
        "start again to see the new terms."
    ),
    _R.WRONG_RUNNER: (
        "These terms are for another machine or user ({was|elsewhere}; here it is {is|this one}); "
        "start it there, or start again here."
    ),
    _R.SESSION_CAP: (
        "As many runs are held as you allow[ ({held,n} of {limit})]; finish or stop one, "
        "or raise max_held_sessions in config.toml."
    ),
    _R.ALREADY_HELD: (
        "This conversation is already held by {run:run|another run}; speak to it there, or stop that one first."
    ),
    _R.TREE_HELD: (
        "{tree|This tree} is in use by {run:run|another run}; stop or finish that one, "
        "or start on a tree of its own (t on the terms, --worktree on the command line)."
    ),
    _R.FENCED: "This run was ended by Footplate before it could start[ ({reason,why:ending})]; start it again.",
    _R.NO_HELD_SESSION: "{run:Run|This run} is not held any more; continue it, or start a new one.",
    _R.FENCING: "{run:Run|This run} is ending; wait for its stop report, then continue it if you want more.",
    _R.SUPERSEDED: "{run:Run|This run} was taken over by another console; speak to it there.",
    _R.EXPIRED: "The end time of these terms has passed[ ({at:clock})]; extend it, or start again under new terms.",
    _R.PAUSED: (
        "{run:Run|This run} is paused, because you were away; "
        "press a key in the console that holds it, and repeat this."
    ),
    _R.IN_FLIGHT: "{run:Run|This run} is still working on a turn; wait for it, or interrupt it first.",
    _R.DECISION_OPEN: "{run:Run|This run} stopped to ask you[ (question {decision})]; answer that first.",
    _R.TURN_CAP: "{run:Run|This run} has used its turns[ ({turns,n} of {limit})]; extend them, finish it or stop it.",
    _R.BUDGET_EXHAUSTED: (
        "{run:Run|This run} is at its budget[: {spent:money} of {limit:money}]"
        "[ of working time: {worked_ms:work} of {limit_ms:work}]; extend it, finish it or stop it."
    ),
    _R.POOL_EXHAUSTED: (
        "The budget of the {period|day}[ for {agent}] has too little left[: {spent:money} of {limit:money} spent]"
        "[, {reserved:money} set aside for what is held][, {wanted:money} wanted]; raise it in config.toml, or wait."
    ),
    _R.ALREADY_DELIVERED: "This was sent before and is not sent again; say it anew if you mean it twice.",
    _R.REPAIR_EXHAUSTED: (
        "The agent was asked again and again to write its question clearly and did not manage; "
        "answer its own words, or say how to go on."
    ),
    _R.EMPTY_TURN: "There is nothing to send; type what the agent is to do.",
    _R.TURN_TOO_LARGE: (
        "This is too long to send ({bytes|more than 1048576} bytes, {limit|1048576} at most); "
        "put it in a file in the tree and name that file."
    ),
    _R.IMAGE_UNFIT: (
        "{name|It} cannot go as an image: {problem:image|it cannot be read}; take out its @ to send the text alone."
    ),
    _R.TOO_MANY_IMAGES: (
        "These are too many images for one message[ ({images}, {limit} at most)]; send some of them with the next one."
    ),
    _R.STALE: "What you answered has changed since it was shown; look at it again and answer what is there now.",
    _R.NO_SUCH_DECISION: "There is no question {decision|of that number}; footplate ls shows the ones that wait.",
    _R.ALREADY_ANSWERED: (
        "This was answered by {by|someone}[ at {at:clock}][ ({answer})]; "
        "say something to the agent if you want it otherwise."
    ),
    _R.UNANSWERED_QUESTIONS: (
        "Some questions have no answer yet[: {questions,first}]; answer each by its number, for example 1=2 2=1,3."
    ),
    _R.NOT_AN_OPTION: (
        "{choice,option,is|That} is not one of the choices[: {choices}]; choose one by its number, or use your own "
        "words with --text."
    ),
    _R.RULE_INVALID: (
        "{rule|This} is no rule[: {problem}]; write one as allow command pytest, deny edit docs/**, "
        "allow fetch docs.python.org or deny tool Task."
    ),
    _R.NOTHING_TO_INTERRUPT: (
        "{run:Run|This run} is not working on that turn; there is nothing to interrupt, just go on."
    ),
    _R.NO_SUCH_RUN: "There is no run {run|of that number}; footplate ls shows the runs there are.",
    _R.NEVER_STARTED: "It was never started: its console went away first; start it again.",
    _R.ALREADY_ENDED: "{run:Run|This run} has ended already; footplate show {run|RUN} says how.",
    _R.STILL_HELD: "{run:Run|This run} has not ended: just write to it.",
    _R.NOT_POSSIBLE_FOR_AGENT: (
        "{agent|This agent} cannot {what|do that}; {instead|say it to the agent in words, or stop it}."
    ),
    _R.OWNED_BY_ANOTHER: (
        "{run:Run|This run} is held by another console[ ({owner})]; use that one, or stop the run from here."
    ),
    _R.NO_OWNER: (
        "No console holds {run:run|this run} just now; open one with footplate and repeat this "
        "(stopping it works without one)."
    ),
    _R.INSIDE_A_HOLD: (
        "This was called from within a run, where only reading and stopping are allowed; "
        "call it from a terminal of your own."
    ),
    _R.NOT_A_REPOSITORY: (
        "{path|This folder} is not a git repository; go to one, name one with --repo, or make one with git init."
    ),
    _R.NO_COMMIT: (
        "{path|This repository} has no commit yet, so there is nothing to work from; "
        "make the first one with git commit, and start again."
    ),
    _R.MAILBOX_PRESENT: (
        "{path|The folder .footplate} holds a note left by an earlier run; read it, remove it, and start again."
    ),
    _R.AGENT_NOT_FOUND: (
        "The agent {agent|you named} was not found[ ({program} is not there)]; "
        "[get it with: {install}; or ]try the practice agent with footplate demo, or set its program in agents.toml."
    ),
    _R.ACCOUNT_SHARED: (
        "{agent|The agent} is signed in with an account whose tokens are renewed in one place, so that no run can have "
        'a home of its own: set home = "shared" in agents.toml, or sign in with a key.'
    ),
    _R.AGENT_SIGNED_OUT: (
        "{agent|The agent} is not signed in[ ({detail})]; "
        "{agent:sign-in|run it once by itself and sign in}, then start again."
    ),
    _R.AGENT_VERSION: (
        "{agent|The agent} {version|in this version} cannot be held[ ({problem})]; "
        "[it must be at least {oldest}: ]update it, or install it again[ with: {install}]."
    ),
    _R.UNKNOWN_AGENT: (
        "There is no agent {agent|of that name}[; there are {agents}]; choose one with --agent, or add it to "
        "agents.toml."
    ),
    _R.GIT_FAILED: (
        "git did not do what was needed[ ({problem})]; run it yourself in {path|the repository}, and start again."
    ),
    _R.SPAWN_FAILED: (
        "The agent could not be started[: {failure:failure}][, it ended with {exit:exit}][ ({problem})][ ({detail})]; "
        "{failure:remedy|footplate doctor looks for the cause}."
    ),
    _R.START_TIMEOUT: (
        "The agent did not answer after its start[ within {seconds} s] and was ended; "
        "run it once by itself to see what it waits for, then start again."
    ),
    _R.SETUP_FAILED: (
        "The new tree was not made ready: {command|its command} ended early ({how|it failed})[; it said: {said}]; "
        "correct it in config.toml, or look at {tree|the tree}."
    ),
    _R.NO_CHECKS: (
        "No checks were agreed to for {run:run|this run}, and config.toml names none for {repository|its repository}; "
        "README says how to."
    ),
    _R.NO_TREE_OF_ITS_OWN: (
        "{run:Run|This run} worked in {repository|the repository} itself: what it changed is in your own files there; "
        "git itself is what keeps or undoes it."
    ),
    _R.TREE_GONE: (
        "Neither the tree nor the branch of {run:run|this run} is there any more[ ({tree})]; "
        "footplate show tells what it changed."
    ),
    _R.TREE_BUSY: (
        "{tree|The tree} is in the middle of something[ ({what})]; "
        "finish that there, or remove what is left of it, and repeat this."
    ),
    _R.TARGET_DIRTY: (
        "{tree|The repository} has changes that are not committed[: {files}]; "
        "commit or put them away first, nothing was changed."
    ),
    _R.NO_BRANCH: "{tree|The repository} is on no branch; check out the one that it is to go to, and repeat this.",
    _R.NOTHING_TO_LAND: "{target|The branch} has everything of {run:run|this run} already; there is nothing to take.",
    _R.CONFLICTS: (
        "Nothing was changed: {branch|the run's branch} and {target|yours} both changed {files|the same lines}; "
        "merge {branch|it} by hand with git, or continue the run and let its agent take {target|yours} in first."
    ),
    _R.NOT_OURS_TO_WRITE: (
        "Nothing was changed: {files|some files} {why|cannot be taken without a program of the repository}; "
        "use git itself in {tree|the tree} for them."
    ),
    _R.HAS_MERGES: "{branch|The run's branch} has merges of its own, which cannot be picked one by one; merge it.",
    _R.IGNORED_FILES: (
        "Nothing was discarded: {tree|the tree} has files that git ignores ({files|some}), a check's or the "
        "agent's own perhaps, which would not come back; move them away, or let them go with it (--ignored)."
    ),
    _R.BRANCH_IN_USE: (
        "Nothing was discarded: {branch|the branch} is checked out in {tree|another tree}; "
        "check out another one there first."
    ),
    _R.NOT_DISCARDED: "{run:Run|This run} was not discarded, or longer ago than 30 days; there is nothing to restore.",
    _R.ALREADY_DISCARDED: (
        "{run:Run|This run} is discarded already[, since {at:clock}]; footplate tree {run|RUN} restore brings it back."
    ),
    _R.FILTER_INVALID: (
        "{what|This} is no filter[ (it wants {wants})]; the fields are {fields|those that the help names}, "
        "and text with a colon in it goes in quotes."
    ),
    _R.CONFIG_INVALID: (
        "{file|The configuration file} cannot be used[: key {key}][: {problem}]; correct it, or move it away."
    ),
    _R.LEDGER_NEWER: (
        "The ledger [{path} ]is of a newer Footplate[ (form {is}, this one knows {known,was})]; "
        "update Footplate, or set FOOTPLATE_HOME to another folder."
    ),
    _R.LEDGER_UNREADABLE: (
        "The ledger [{path} ]cannot be read[ ({problem})]; "
        "restore it from a copy, or set FOOTPLATE_HOME to another folder."
    ),
    _R.LEDGER_BUSY: (
        "The ledger is in use by another program and did not come free; end what holds it, then repeat this."
    ),
    _R.NETWORK_FILE_SYSTEM: (
        "{path|The data folder} is on a network file system[ ({kind})], where a ledger can break; "
        "set FOOTPLATE_HOME to a local folder."
    ),
    _R.STORAGE: (
        "{path|The data folder} cannot be used[: {problem}]; make room or correct its rights, "
        "or set FOOTPLATE_HOME to a folder of your own."
    ),
    **REFUSALS,
}


def sentence(refusal: Refusal) -> str:
    """What is the case and what to do, in one sentence."""
    of_task = OF_A_TASK.get(refusal.reason) if refusal.facts.get("task") is not None else None
    said = filled(of_task or _TEMPLATES[refusal.reason], refusal.facts)
    where = refusal.facts.get("where")
    if not where or refusal.reason is RefusalReason.QUEUE_FILE_INVALID:
        return said
    # Of several things that were ordered together, the one that it is about.
    place = others_words(str(where))
    return f"{place[:1].upper()}{place[1:]}: {said}"


def trouble_words(refusal: Refusal, home: str | None = None) -> str:
    """Why the ledger takes nothing just now, while all that waits for it waits. ``home``: the operator's own, else."""
    if refusal.reason is RefusalReason.LEDGER_BUSY:
        return "The ledger is in use by another program; what you do is saved when it comes free."
    facts = {**refusal.facts, "path": short_path(str(refusal.facts.get("path") or ""), home)}
    return sentence(Refusal(refusal.reason, facts))
