/** What a shell can complete for one command. */
export type CommandCompletion = {
  readonly names: readonly string[];
  readonly summary: string;
  /** Shell command that prints further values, one per line; undefined if there are none. */
  readonly listCommand: string | undefined;
  /** Fixed values that may follow it, e.g. subcommands. */
  readonly arguments: readonly string[];
  readonly flags: readonly { readonly long: string; readonly description: string }[];
};

export const shells = ["bash", "zsh", "fish"] as const;

/** The script that completes the commands of a program. */
export function writeCompletion(
  shell: (typeof shells)[number],
  program: string,
  commands: readonly CommandCompletion[],
): string {
  return { bash: writeBash, zsh: writeZsh, fish: writeFish }[shell](program, commands);
}

/** Bash splits words at colons, so the part before the last colon is removed from each match. */
function writeBash(program: string, commands: readonly CommandCompletion[]): string {
  return `_${program}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words="" IFS=$' \\t\\n' line="\${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${commands.flatMap(({ names }) => names).join(" ")} help --help --version" -- "$word"))
    return
  fi
  word="\${line##* }"
  case "\${COMP_WORDS[1]}" in
${commands.map(writeBashCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ \${#COMPREPLY[@]} -eq 0 && "$word" != -* ]]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  if [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    local cut="\${word%"\${word##*:}"}" index
    for index in "\${!COMPREPLY[@]}"; do COMPREPLY[$index]="\${COMPREPLY[$index]#"$cut"}"; done
  fi
}
complete -F _${program} ${program}
`;
}

function writeBashCase({ names, listCommand, arguments: values, flags }: CommandCompletion): string {
  const all = [...values, ...flags.map(({ long }) => long), "--help"].join(" ");
  const listed =
    listCommand === undefined ? "" : ` [[ "$word" == -* ]] || words="$words $(${listCommand} 2>/dev/null)";`;
  return `    ${names.join("|")}) words="${all}";${listed} ;;`;
}

function writeZsh(program: string, commands: readonly CommandCompletion[]): string {
  const rows = commands.flatMap(({ names, summary }) =>
    names.map((name) => `    ${quote(`${name}:${summary}`)}`),
  );
  return `#compdef ${program}
_${program}() {
  local -a commands listed
  commands=(
${rows.join("\n")}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${commands.map(writeZshCase).join("\n")}
  esac
}
if [[ "$funcstack[1]" == _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function writeZshCase({ names, listCommand, arguments: values, flags }: CommandCompletion): string {
  const all = [...values, ...flags.map(({ long }) => long), "--help"].join(" ");
  const listed =
    listCommand === undefined
      ? ""
      : ` [[ "$PREFIX" == -* ]] || { listed=(\${(f)"$(${listCommand} 2>/dev/null)"}); compadd -a listed; };`;
  return `    ${names.join("|")}) compadd -- ${all};${listed} [[ "$PREFIX" == -* ]] || _files ;;`;
}

function writeFish(program: string, commands: readonly CommandCompletion[]): string {
  const lines = commands.flatMap((command) => {
    const { names, summary, listCommand, arguments: values, flags } = command;
    const seen = `"__fish_seen_subcommand_from ${names.join(" ")}"`;
    return [
      ...names.map(
        (name) => `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ),
      ...flags.map(
        ({ long, description }) =>
          `complete -c ${program} -n ${seen} -l ${long.slice(2)} -d ${quote(truncate(description))}`,
      ),
      ...(values.length > 0 ? [`complete -c ${program} -n ${seen} -f -a ${quote(values.join(" "))}`] : []),
      ...(listCommand === undefined
        ? []
        : [`complete -c ${program} -n ${seen} -f -a "(${listCommand} 2>/dev/null)"`]),
    ];
  });
  return `${lines.join("\n")}\n`;
}

const maxDescriptionCharacters = 60;

function truncate(description: string): string {
  return description.length > maxDescriptionCharacters
    ? `${description.slice(0, maxDescriptionCharacters - 1)}…`
    : description;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
