/** Suggests the intended command or option for an unknown command, option or argument. */
import type { Command, CommanderError, Option } from 'commander';
import { ownCall } from '../../own-call.js';
import { EXPLAINED } from '../options/other-servers.js';
import { EXIT } from './exit-codes.js';
import { nearestNames } from './nearest-names.js';

/** Command names of Ollama, LM Studio and others. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  app: 'desktop',
  benchmark: 'bench',
  download: 'get',
  find: 'search',
  install: 'get',
  server: 'serve',
  start: 'serve',
};

/** Adds a suggestion to the usage errors of this command and its subcommands, and sets their exit code. */
export function addSuggestions(command: Command): Command {
  command.showSuggestionAfterError(false).exitOverride((error) => {
    const hint = hintFor(command, error);
    if (hint !== undefined) process.stderr.write(`(${hint})\n`);
    // Commander's own exit code is 1. Help and version have 0.
    process.exit(error.exitCode === 0 ? 0 : EXIT.usage);
  });
  for (const each of command.commands) addSuggestions(each);
  return command;
}

function hintFor(command: Command, { code, message }: CommanderError): string | undefined {
  const [, name = ''] = /'(.*)'/s.exec(message) ?? [];
  switch (code) {
    case 'commander.unknownCommand':
      return hintForCommand(command, name);
    case 'commander.unknownOption':
      return hintForOption(command, name);
    case 'commander.excessArguments':
      return hintForArgument(command);
    case 'commander.missingArgument':
      return `Usage: ${nameOf(command)} ${command.usage()}`;
    default:
      return undefined;
  }
}

function hintForCommand(command: Command, name: string): string {
  const names = command.commands.map((each) => each.name());
  const known = command.parent === null && Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  const near = known === undefined ? nearestNames(name, names) : [known];
  if (near.length > 0) return didYouMean(near);
  return hintForModel(command, name) ?? `${nameOf(command)} --help lists the commands.`;
}

function hintForOption(command: Command, given: string): string {
  const [flag = ''] = given.split('=');
  if (command.name() === 'serve' && Object.hasOwn(EXPLAINED, flag)) return EXPLAINED[flag] as string;
  const near = nearestNames(flag, ['--help', ...flagsOf(command)]).map((each) => shownFlag(command, each));
  const others = commandsBelow(rootOf(command)).filter((each) => each !== command && flagsOf(each).includes(flag));
  const hasCommands = command.commands.length > 0;
  // `chasqui --port 80` lacks a command. Within a command, a typo is likelier than an option of another command.
  if (others.length > 0 && (hasCommands || near.length === 0)) return optionOf(flag, others);
  if (near.length > 0) return didYouMean([...new Set(near)]);
  return `${nameOf(command)} --help lists the ${hasCommands ? 'commands' : 'options'}.`;
}

const MAX_COMMANDS = 3;

function optionOf(flag: string, commands: readonly Command[]): string {
  const names = commands.slice(0, MAX_COMMANDS).map((each) => nameOf(each, 'chasqui'));
  return `${flag} is an option of ${names.join(', ')}${commands.length > names.length ? ' and others' : ''}.`;
}

function hintForArgument(command: Command): string {
  const [first = ''] = command.args;
  return hintForModel(command, first) ?? `Usage: ${nameOf(command)} ${command.usage()}`;
}

/** A model in place of a command probably means `serve`. */
function hintForModel(command: Command, name: string): string | undefined {
  const serves = command.parent === null || command.name() === 'serve';
  const call = `${ownCall()} serve`;
  if (serves && /\.gguf$/i.test(name)) return `To serve a file: ${call} --model ${name}`;
  if (serves && /^[\w.-]+\/[\w.:-]+$/.test(name)) return `To serve a model of the hub: ${call} -hf ${name}`;
  return undefined;
}

function didYouMean(names: readonly string[]): string {
  return names.length === 1 ? `Did you mean ${names[0]}?` : `Did you mean one of ${names.join(', ')}?`;
}

function flagsOf({ options }: Command): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

/** Maps a hidden alias to the flag that the help shows. */
function shownFlag({ options }: Command, flag: string): string {
  const found = options.find(({ long }) => long === flag);
  if (found === undefined || !found.hidden || found.negate) return flag;
  const isShown = (option: Option) => !option.hidden && option.attributeName() === found.attributeName();
  return options.find(isShown)?.long ?? flag;
}

function nameOf(command: Command, root = ownCall()): string {
  return command.parent === null ? root : `${nameOf(command.parent, root)} ${command.name()}`;
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

function commandsBelow(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...commandsBelow(each)]);
}
