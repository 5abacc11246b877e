/** The commands of a chat: `/set temperature 0.2`. */
import fs from 'node:fs';
import { MAX_COUNT, type NumberRow } from '../../options/option-row.js';
import { ANY_SEED, fieldOf, NEUTRAL_SAMPLING, SAMPLING_NUMBERS } from '../../options/sampling-table.js';
import { parseOption, wantedText } from '../options/parse-option.js';
import type { ChatSettings, Conversation } from './conversation.js';

export interface Chat {
  conversation: Conversation;
  /** Whether the speed is printed after each answer. */
  statistics: boolean;
}

interface ChatCommand {
  usage: string;
  help: string;
  /** Returns the text to print; `null` ends the chat. */
  run(chat: Chat, rest: string): string | null;
}

const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  set: { usage: '/set NAME VALUE', help: 'Change a setting; /set lists them', run: set },
  save: { usage: '/save FILE', help: 'Write the conversation to a JSON file', run: save },
  clear: { usage: '/clear', help: 'Forget the conversation; keep the settings', run: clear },
  help: { usage: '/help', help: 'Show this help', run: help },
  bye: { usage: '/bye', help: 'End the chat, as Ctrl-D does', run: () => null },
};
const ALIASES: Readonly<Record<string, string>> = { '?': 'help', exit: 'bye', quit: 'bye' };

/** Runs the command of a line. Returns `undefined` if the line is a message. */
export function runCommand(chat: Chat, line: string): string | null | undefined {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim()) ?? [];
  // Paths of images start with a slash as well.
  if (!line.startsWith('/') || name.includes('/')) return undefined;
  const command = COMMANDS[ALIASES[name] ?? name];
  return command === undefined ? `Unknown command /${name}. /help lists the commands.` : command.run(chat, rest);
}

function help(): string {
  const rows = Object.values(COMMANDS).map(({ usage, help }) => `  ${usage.padEnd(16)} ${help}`);
  return [...rows, '  """              Start or end a message of several lines'].join('\n');
}

function clear({ conversation }: Chat): string {
  conversation.clear();
  return 'The conversation is empty.';
}

function save({ conversation }: Chat, file: string): string {
  if (file === '') return 'Usage: /save FILE';
  const { model, messages } = conversation;
  const texts = messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : content?.map(withoutBytes),
  }));
  try {
    const text = JSON.stringify({ model: model.model.id, messages: texts }, null, 2);
    fs.writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
    return `Saved ${messages.length} messages to ${file}.`;
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    return exists ? `${file} exists. Choose another name.` : `Cannot write ${file}: ${(error as Error).message}`;
  }
}

function withoutBytes(part: { type: string }): object {
  return part.type === 'image' ? { type: 'text', text: '[image]' } : part;
}

const whole = { type: 'integer', flag: null, group: '', help: '' } as const;

/** Settings that are numbers: the field of `generate`, and its values. */
const NUMBERS = new Map<string, { field: string; row: NumberRow }>([
  ...Object.entries(SAMPLING_NUMBERS).map(
    ([field, row]) => [fieldOf(field), { field, row: { ...row, group: '' } as NumberRow }] as const,
  ),
  ['seed', { field: 'seed', row: { ...whole, min: 0, max: ANY_SEED - 1 } }],
  ['max_tokens', { field: 'maxTokens', row: { ...whole, min: 1, max: MAX_COUNT } }],
]);

/** Ollama's names. */
const OTHER_NAMES: Readonly<Record<string, string>> = { num_predict: 'max_tokens', temp: 'temperature' };
const FIXED: Readonly<Record<string, string>> = { num_ctx: '--ctx-size', num_gpu: '--gpu-layers' };
const SWITCHES: Readonly<Record<string, (chat: Chat) => void>> = {
  verbose: (chat) => void Object.assign(chat, { statistics: true }),
  quiet: (chat) => void Object.assign(chat, { statistics: false }),
  think: ({ conversation }) => change(conversation, 'templateKwargs', { enable_thinking: true }),
  nothink: ({ conversation }) => change(conversation, 'templateKwargs', { enable_thinking: false }),
};

function set(chat: Chat, rest: string): string {
  const { conversation } = chat;
  const [, given = '', value = ''] = /^(?:parameter\s+)?(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  const name = OTHER_NAMES[given] ?? given;
  if (name === '') return listSettings(conversation);
  if (name === 'system') {
    conversation.system = value.replace(/^"([\s\S]*)"$/, '$1') || undefined;
    return conversation.system === undefined ? 'There is no system prompt.' : 'The system prompt is set.';
  }
  if (Object.hasOwn(SWITCHES, name)) {
    SWITCHES[name]?.(chat);
    return `${name} is set.`;
  }
  if (Object.hasOwn(FIXED, name)) return `${name} is set at the start: ${FIXED[name]}.`;
  const number = NUMBERS.get(name);
  if (number === undefined) return `There is no setting ${name}. /set lists them.`;
  const parsed = value === 'default' ? undefined : parseOption(number.row, value);
  if (parsed === undefined && value !== 'default') return `${name} must be ${wantedText(number.row)}, or default.`;
  change(conversation, number.field, parsed);
  return `${name} is ${value}.`;
}

function change(conversation: Conversation, field: string, value: unknown): void {
  const { [field]: _, ...others } = conversation.settings;
  conversation.settings = value === undefined ? others : { ...others, [field]: value };
}

function listSettings({ system, settings, model }: Conversation): string {
  const values: ChatSettings = { ...NEUTRAL_SAMPLING, ...model.model.sampling, ...settings };
  const numbers = [...NUMBERS].map(([name, { field }]) => `  ${name} ${values[field] ?? 'default'}`);
  const switches = Object.keys(SWITCHES).map((name) => `  ${name}`);
  return [`  system ${system ?? ''}`.trimEnd(), ...numbers, ...switches].join('\n');
}
