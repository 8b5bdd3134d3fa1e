/** What a shell completes of one command. */
export type CompletedCommand = {
  readonly names: readonly string[];
  readonly summary: string;
  readonly takesModel: boolean;
  /** Words that may follow it. */
  readonly words: readonly string[];
  readonly flags: readonly { readonly long: string; readonly meaning: string }[];
};

export function writeCompletion(
  shell: "bash" | "zsh" | "fish",
  commands: readonly CompletedCommand[],
): string {
  return { bash: writeBash, zsh: writeZsh, fish: writeFish }[shell](commands);
}

/** Model names hold colons, at which bash breaks words; so what stands before the last colon is cut off again. */
function writeBash(commands: readonly CompletedCommand[]): string {
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

function writeBashCase({ names, takesModel, words, flags }: CompletedCommand): string {
  const all = [...words, ...flags.map(({ long }) => long), "--help"].join(" ");
  const models = takesModel
    ? ' [[ "$word" == -* ]] || words="$words $(hearth completion --models 2>/dev/null)";'
    : "";
  return `    ${names.join("|")}) words="${all}";${models} ;;`;
}

function writeZsh(commands: readonly CompletedCommand[]): string {
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

function writeZshCase({ names, takesModel, words, flags }: CompletedCommand): string {
  const all = [...words, ...flags.map(({ long }) => long), "--help"].join(" ");
  const models = takesModel
    ? ' [[ "$PREFIX" == -* ]] || { models=(${(f)"$(hearth completion --models 2>/dev/null)"}); compadd -a models; };'
    : "";
  return `    ${names.join("|")}) compadd -- ${all};${models} [[ "$PREFIX" == -* ]] || _files ;;`;
}

function writeFish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap((command) => {
    const { names, summary, takesModel, words, flags } = command;
    const seen = `"__fish_seen_subcommand_from ${names.join(" ")}"`;
    return [
      ...names.map(
        (name) => `complete -c hearth -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ),
      ...flags.map(
        ({ long, meaning }) =>
          `complete -c hearth -n ${seen} -l ${long.slice(2)} -d ${quote(shorten(meaning))}`,
      ),
      ...(words.length > 0 ? [`complete -c hearth -n ${seen} -f -a ${quote(words.join(" "))}`] : []),
      ...(takesModel
        ? [`complete -c hearth -n ${seen} -f -a "(hearth completion --models 2>/dev/null)"`]
        : []),
    ];
  });
  return `${lines.join("\n")}\n`;
}

const mostMeaning = 60;

function shorten(meaning: string): string {
  return meaning.length > mostMeaning ? `${meaning.slice(0, mostMeaning - 1)}…` : meaning;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
