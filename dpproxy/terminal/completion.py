"""Completion of commands and options in bash and zsh, from the table of commands."""

from collections.abc import Sequence

from dpproxy.terminal.arguments import Command

SHELLS = ("bash", "zsh")
_SCRIPT = """\
# Completion of dpproxy. For every shell to come:  dpproxy completion {shell} >> ~/.{shell}rc
{first}_dpproxy() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" place="${{COMP_WORDS[1]}}" known
  [[ $COMP_CWORD -gt 2 || $current == -* ]] && place="$place ${{COMP_WORDS[2]}}"
  [[ $COMP_CWORD -eq 1 ]] && place=""
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
    --config|--output|--file|--directory) known="" ;;
    *) case "$place" in
{cases}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "$current"))
}}
complete -o default -F _dpproxy dpproxy
"""


def script(commands: Sequence[Command], shell: str) -> str:
    """What a shell is to read; zsh by its own emulation of bash's completion."""
    words: dict[str, set[str]] = {"": {"--help", "--version"}}
    options: dict[str, str] = {}
    for command in commands:
        group, _, name = command.name.rpartition(" ")
        words[""].add(group or name)
        if group:
            words.setdefault(group, set()).add(name)
        named = sorted({"--help", *(name for name, _ in command.options if name.startswith("-"))})
        options[command.name] = " ".join(named)
    cases = [f'      "") known="{" ".join(sorted(words.pop("")))}" ;;']
    cases += [
        f'      "{name}") known="{" ".join(sorted(inner))}" ;;' for name, inner in sorted(words.items())
    ]
    cases += [f'      "{name}"*) known="{text}" ;;' for name, text in sorted(options.items(), reverse=True)]
    first = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return _SCRIPT.format(shell=shell, first=first, cases="\n".join(cases))
