/** What a shell can complete for one command. */
export type CommandCompletion = {
  readonly names: readonly string[];
  readonly summary: string;
  readonly takesModel: boolean;
  /** Fixed values that may follow it, e.g. subcommands. */
  readonly arguments: readonly string[];
  readonly flags: readonly { readonly long: string; readonly description: string }[];
};

export function writeCompletion(
  shell: "bash" | "zsh" | "fish",
  commands: readonly CommandCompletion[],
): string {
  return { bash: writeBash, zsh: writeZsh, fish: writeFish }[shell](commands);
}

/** Bash splits words at the colons of model names, so the part before the last colon is removed from each match. */
function writeBash(commands: readonly CommandCompletion[]): string {
  return `_hearth() {
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
complete -F _hearth hearth
`;
}

function writeBashCase({ names, takesModel, arguments: values, flags }: CommandCompletion): string {
  const all = [...values, ...flags.map(({ long }) => long), "--help"].join(" ");
  const models = takesModel
    ? ' [[ "$word" == -* ]] || words="$words $(hearth completion --models 2>/dev/null)";'
    : "";
  return `    ${names.join("|")}) words="${all}";${models} ;;`;
}

function writeZsh(commands: readonly CommandCompletion[]): string {
  const rows = commands.flatMap(({ names, summary }) =>
    names.map((name) => `    ${quote(`${name}:${summary}`)}`),
  );
  return `#compdef hearth
_hearth() {
  local -a commands models
  commands=(
${rows.join("\n")}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${commands.map(writeZshCase).join("\n")}
  esac
}
if [[ "$funcstack[1]" == _hearth ]]; then _hearth "$@"; else compdef _hearth hearth; fi
`;
}

function writeZshCase({ names, takesModel, arguments: values, flags }: CommandCompletion): string {
  const all = [...values, ...flags.map(({ long }) => long), "--help"].join(" ");
  const models = takesModel
    ? ' [[ "$PREFIX" == -* ]] || { models=(${(f)"$(hearth completion --models 2>/dev/null)"}); compadd -a models; };'
    : "";
  return `    ${names.join("|")}) compadd -- ${all};${models} [[ "$PREFIX" == -* ]] || _files ;;`;
}

function writeFish(commands: readonly CommandCompletion[]): string {
  const lines = commands.flatMap((command) => {
    const { names, summary, takesModel, arguments: values, flags } = command;
    const seen = `"__fish_seen_subcommand_from ${names.join(" ")}"`;
    return [
      ...names.map(
        (name) => `complete -c hearth -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ),
      ...flags.map(
        ({ long, description }) =>
          `complete -c hearth -n ${seen} -l ${long.slice(2)} -d ${quote(truncate(description))}`,
      ),
      ...(values.length > 0 ? [`complete -c hearth -n ${seen} -f -a ${quote(values.join(" "))}`] : []),
      ...(takesModel
        ? [`complete -c hearth -n ${seen} -f -a "(hearth completion --models 2>/dev/null)"`]
        : []),
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
