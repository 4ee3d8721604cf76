/**
 * The scripts that a shell loads. They contain no commands: each calls `proxwright complete` with the words typed so
 * far. It prints one candidate per line, with a tab before its description, or `:files` where a file name belongs.
 */
import type { SHELLS } from '../options.ts';

export const FILES_ANSWER = ':files';

export const COMPLETION_SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# proxwright completion for bash
_proxwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" line
  local -a lines=()
  while IFS= read -r line; do
    lines+=("$line")
  done < <("\${COMP_WORDS[0]/#\\~/$HOME}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  if [[ "\${lines[0]-}" == '${FILES_ANSWER}' ]]; then
    [[ "$current" == '=' ]] && current=''
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen -f -- "$current")
    return
  fi
  for line in "\${lines[@]}"; do
    line="\${line%%$'\\t'*}"
    # Inside quotes the shell keeps a word as it is; outside, [ and " need a backslash.
    [[ "$current" == [\\"\\']* ]] || printf -v line '%q' "$line"
    COMPREPLY+=("$line")
  done
  # bash completes only what follows the last colon.
  if [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
  fi
}
complete -F _proxwright proxwright
`,
  zsh: `#compdef proxwright
# proxwright completion for zsh
_proxwright() {
  local line
  local -a lines found
  lines=("\${(@f)$(\${~words[1]} complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$lines[1]" == '${FILES_ANSWER}' ]]; then
    _files
    return
  fi
  for line in $lines; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'proxwright' found
}
if [[ "$funcstack[1]" == '_proxwright' ]]; then
  _proxwright "$@"
else
  compdef _proxwright proxwright
fi
`,
  fish: `# proxwright completion for fish
function __proxwright_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($before[1] complete -- $before[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = '${FILES_ANSWER}'
        __fish_complete_path "$current"
    else if set -q found[1]
        printf '%s\\n' $found
    end
end
complete -c proxwright -f -a '(__proxwright_complete)'
`,
};
