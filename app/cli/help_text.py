"""``footplate --help``, as it stands: loading the command line only to print its own summary takes six times as long.

A test holds the list to the commands that there are.
"""

TOP = """\
Usage: footplate [COMMAND] [OPTIONS]

Hold coding agents from one terminal: they work under your terms, wait for your
answers, and leave nothing running when you stop them.

  footplate                 open the console here (--repo DIR: there)
  footplate demo            try it: the practice agent, no account needed
  footplate tour            six keys that do most of it, in the console

Work
  start [BRIEF]             start a run under terms (--plain: without a screen)
  continue RUN [TEXT]       go on from a run that has ended
  queue add TEXT            put a task in line; an open console begins it
  say RUN TEXT              say something to a run
  answer ID CHOICE...       answer a question by its number
  interrupt RUN             interrupt the turn that runs
  finish RUN                end a run well, after its turn
  stop RUN | --all          stop it, and everything that it started
  tree RUN [DEED]           what it left: keep, merge, pick, shell, discard
  extend RUN                more money, turns, work or time
  revoke RUN                take its terms back: it ends

Look
  ls                        runs, and what waits for you
  queue                     the line: what waits, and why (queue --help)
  attention                 what waits for you, oldest first
  show RUN                  one run: turns, questions, stop report
  diff RUN [FILE...]        what it changed (--stat, --turn N)
  ps                        processes of every run that is held
  budget                    money: limits, spent, reserved, left
  review [LEDGER]           look through all runs of a ledger, also a copy
  search WORDS...           what was said in all runs, newest first
  spend                     money and time by day, repository, agent, model
  export RUN...             as Markdown, HTML, JSON, a table, or a bundle
  agents                    which agents can be run here
  serve                     the console in a browser, on this machine alone

Care
  rules                     what is allowed or denied without asking you
  doctor                    check this machine, with a remedy for each finding
  notify                    how you are told when you look elsewhere (--test)
  config                    the configuration in force, and where it lies
  verify [LEDGER|BUNDLE]    check that the ledger is whole
  backup FILE               copy the ledger, also while a console works
  prune                     drop runs that ended long ago (--dry-run)
  sweep                     settle what a console that is gone has left
  import PATH...            read in transcripts of Claude Code and Codex
  completion SHELL          complete at Tab: bash, zsh, fish

Options
  --version                 show the version
  --help                    show this; COMMAND --help shows more on one command
  help TOPIC                agents, budgets, files, keys, queue, rules, safety

Exit codes: 0 done, 1 refused (the reason is on stderr), 2 usage,
3 not reached or a person is needed.
"""
