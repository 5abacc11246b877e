/** `chasqui completion`: completion scripts for shells, generated from the commands. */
import { Argument, Command } from 'commander';

const HELP = `
  bash: eval "$(chasqui completion bash)" in ~/.bashrc
  zsh:  eval "$(chasqui completion zsh)" in ~/.zshrc, after compinit
  fish: chasqui completion fish > ~/.config/fish/completions/chasqui.fish`;

const SHELLS = { bash, zsh, fish } as const;

export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('Print the completion script of a shell.')
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
    .action((shell: keyof typeof SHELLS) => console.log(SHELLS[shell](levelsOf(program))));
}

/** A command with the words that can follow it. */
interface Level {
  /** The words that lead to it: `keys create`; empty for `chasqui` itself. */
  path: string;
  commands: readonly { names: readonly string[]; about: string }[];
  options: readonly { flags: readonly string[]; about: string; takesValue: boolean }[];
}

function levelsOf(command: Command, path = ''): Level[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const own: Level = {
    path,
    commands: commands.map((each) => ({
      names: [each.name(), ...each.aliases()],
      about: firstSentence(each.description()),
    })),
    options: help.visibleOptions(command).map(({ short, long, description, required, optional }) => ({
      flags: [short, long].filter((flag): flag is string => flag !== undefined),
      about: firstSentence(description),
      takesValue: required || optional,
    })),
  };
  return [own, ...commands.flatMap((each) => levelsOf(each, `${path} ${each.name()}`.trim()))];
}

function firstSentence(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replace(/(\.|; .*| \(.*)$/, '');
}

function wordsOf({ commands, options }: Level): string {
  return [...commands.flatMap(({ names }) => names), ...options.flatMap(({ flags }) => flags)].join(' ');
}

/** Sets `level` to the path of the command: the words before the cursor that name commands, aliases replaced. */
function findLevel(levels: readonly Level[], words: string): string {
  const steps = levels.flatMap(({ path, commands }) =>
    commands.map(({ names: [name = '', ...aliases] }) => {
      const patterns = [name, ...aliases].map((each) => `"${path}:${each}"`).join('|');
      return `      ${patterns}) level="${`${path} ${name}`.trim()}" ;;`;
    }),
  );
  return `  local level="" word
  for word in ${words}; do
    case "$level:$word" in
${steps.join('\n')}
    esac
  done`;
}

function candidates(levels: readonly Level[], how: (words: string) => string): string {
  const cases = levels.map((level) => `    "${level.path}") ${how(wordsOf(level))} ;;`);
  return `  case "$level" in\n${cases.join('\n')}\n  esac`;
}

function bash(levels: readonly Level[]): string {
  return `_chasqui() {
${findLevel(levels, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  local candidates=""
${candidates(levels, (words) => `candidates="${words}"`)}
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _chasqui chasqui`;
}

function zsh(levels: readonly Level[]): string {
  return `#compdef chasqui
_chasqui() {
${findLevel(levels, `"\${(@)words[2,CURRENT-1]}"`)}
${candidates(levels, (words) => `compadd -- ${words}`)}
  _files
}
compdef _chasqui chasqui`;
}

function fish(levels: readonly Level[]): string {
  const lines = levels.flatMap(({ path, commands, options }) => {
    const steps = path.split(' ').filter((step) => step !== '');
    const next = commands.flatMap(({ names }) => names).join(' ');
    const seen = steps.map((step) => `__fish_seen_subcommand_from ${namesOf(levels, step)}`);
    const none = next === '' ? [] : [`not __fish_seen_subcommand_from ${next}`];
    const when = `complete -c chasqui -n '${[...seen, ...none].join('; and ')}'`;
    return [
      ...commands.map(({ names, about }) => `${when} -f -a '${names.join(' ')}' -d ${quoted(about)}`),
      ...options.map(({ flags, about, takesValue }) => {
        const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        return `${when} ${named.join(' ')}${takesValue ? ' -r' : ''} -d ${quoted(about)}`;
      }),
    ];
  });
  return lines.join('\n');
}

function namesOf(levels: readonly Level[], name: string): string {
  const found = levels.flatMap(({ commands }) => commands).find(({ names }) => names[0] === name);
  return found?.names.join(' ') ?? name;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
