/** OpenAI's tools that run in the client, as functions with their published schemas. */
import { parseArguments } from '../../shared/completion/call-arguments.js';
import { oneOf, parametersBy, parametersOf, text as textOf, whole } from '../../shared/tools/tool-parameters.js';
import type { ItemStatus, OutputItem } from './object-schema.js';
import type { ResponseTool } from './tools-schema.js';

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const milliseconds = { type: 'integer', description: 'Time limit in milliseconds.' };

const point = { x: whole('Pixels from the left.'), y: whole('Pixels from the top.') };
const computerAction = parametersBy(
  'type',
  {
    ...point,
    button: oneOf('For `click`.', 'left', 'right', 'wheel', 'back', 'forward'),
    scroll_x: whole('For `scroll`: pixels to the right.'),
    scroll_y: whole('For `scroll`: pixels down.'),
    path: {
      type: 'array',
      items: parametersOf(point, 'x', 'y'),
      minItems: 2,
      description: 'For `drag`: the points of the path.',
    },
    keys: {
      ...texts,
      minItems: 1,
      description: 'For `keypress`: keys that are pressed together. Otherwise: keys held.',
    },
    text: textOf('For `type`: the text.'),
  },
  [
    [['click'], ['button', 'x', 'y']],
    [
      ['double_click', 'move'],
      ['x', 'y'],
    ],
    [['scroll'], ['x', 'y', 'scroll_x', 'scroll_y']],
    [['drag'], ['path']],
    [['keypress'], ['keys']],
    [['type'], ['text']],
    [['screenshot', 'wait'], []],
  ],
);
const computer = 'Uses the mouse and the keyboard of a computer, and takes screenshots.';

const CLIENT_TOOLS = {
  computer: {
    description: `${computer} Runs the actions in order, then takes a screenshot.`,
    parameters: parametersOf({ actions: { type: 'array', items: computerAction, minItems: 1 } }, 'actions'),
  },
  computer_use_preview: { description: computer, parameters: computerAction },
  local_shell: {
    description: 'Runs a command on the local machine.',
    parameters: {
      type: 'object',
      properties: {
        command: { ...texts, minItems: 1, description: 'The program and its arguments.' },
        env: { type: 'object', additionalProperties: text, description: 'Environment variables.' },
        working_directory: text,
        timeout_ms: milliseconds,
        user: text,
      },
      required: ['command'],
      additionalProperties: false,
    },
  },
  shell: {
    description: 'Runs shell commands on the local machine.',
    parameters: {
      type: 'object',
      properties: {
        commands: { ...texts, minItems: 1, description: 'The commands. They may run at the same time.' },
        timeout_ms: milliseconds,
        max_output_length: { type: 'integer', description: 'Maximum length of the output in characters.' },
      },
      required: ['commands'],
      additionalProperties: false,
    },
  },
  apply_patch: {
    description:
      'Creates, changes or deletes a file. `diff` is a patch without file names: lines begin with a space (context), `-` or ' +
      '`+`, and hunks begin with `@@`. For `create_file` every line begins with `+`; for `delete_file` it is empty.',
    parameters: {
      type: 'object',
      properties: { type: { enum: ['create_file', 'update_file', 'delete_file'] }, path: text, diff: text },
      required: ['type', 'path', 'diff'],
      additionalProperties: false,
    },
  },
};

export type ClientToolType = keyof typeof CLIENT_TOOLS;

/** Null for other tools, and for a shell in a container of OpenAI. */
export function clientToolOf(tool: ResponseTool): ClientToolType | null {
  const { type } = tool;
  if (!isClientTool(type)) return null;
  return type === 'shell' && (shellOf(tool)?.type ?? 'local') !== 'local' ? null : type;
}

function shellOf({ environment }: ResponseTool) {
  return typeof environment === 'object' ? environment : null;
}

/** Past calls of both computer tools have the same type. */
export function clientToolName(type: ClientToolType): string {
  return type === 'computer_use_preview' ? 'computer' : type;
}

export function isClientTool(type: string): type is ClientToolType {
  return Object.hasOwn(CLIENT_TOOLS, type);
}

/** The chat tool. Its description names the skills of a shell's environment and the display of a computer. */
export function toClientFunction(type: ClientToolType, tool: ResponseTool): object {
  const { description, parameters } = CLIENT_TOOLS[type];
  const name = clientToolName(type);
  return { type: 'function', function: { name, description: description + noteOn(tool), parameters } };
}

function noteOn(tool: ResponseTool): string {
  const { display_width: width, display_height: height } = tool;
  if (width != null && height != null) return ` The display has ${width} x ${height} pixels.`;
  const skills = shellOf(tool)?.skills ?? [];
  const told = skills.map(({ name, path, description }) => `\n- ${name} (in ${path}): ${description}`);
  return skills.length === 0 ? '' : ` These skills are described by a file SKILL.md each:${told.join('')}`;
}

const ID_PREFIXES = {
  ...{ computer: 'cu_', computer_use_preview: 'cu_' },
  ...{ local_shell: 'lsh_', shell: 'sh_', apply_patch: 'apc_' },
} as const;

export function clientCallPrefix(type: ClientToolType): string {
  return ID_PREFIXES[type];
}

/** An interrupted call has no command, so no client runs an incomplete one. */
export function toClientCall(
  type: ClientToolType,
  json: string,
  { status, ...head }: { id: string; status: ItemStatus; call_id: string },
): OutputItem {
  const given = parseArguments(json) ?? {};
  switch (type) {
    case 'computer':
    case 'computer_use_preview': {
      const { actions } = given;
      const asked =
        type === 'computer'
          ? { actions: Array.isArray(actions) ? actions.map(toAction) : [] }
          : { action: toAction(given) };
      return { type: 'computer_call', ...head, status, pending_safety_checks: [], ...asked };
    }
    case 'local_shell': {
      const { command, env, timeout_ms, user, working_directory } = given;
      const action = {
        type: 'exec' as const,
        command: toTexts(command),
        env: toVariables(env),
        timeout_ms: toNumber(timeout_ms),
        user: toText(user),
        working_directory: toText(working_directory),
      };
      return { type: 'local_shell_call', ...head, status, action };
    }
    case 'shell': {
      const { commands, timeout_ms, max_output_length } = given;
      const limits = { timeout_ms: toNumber(timeout_ms), max_output_length: toNumber(max_output_length) };
      const environment = { type: 'local' as const };
      return { type: 'shell_call', ...head, status, action: { commands: toTexts(commands), ...limits }, environment };
    }
    case 'apply_patch': {
      const path = toText(given.path) ?? '';
      const operation =
        given.type === 'delete_file'
          ? ({ type: 'delete_file', path } as const)
          : ({
              type: given.type === 'create_file' ? 'create_file' : 'update_file',
              path,
              diff: toText(given.diff) ?? '',
            } as const);
      // The protocol has no `incomplete` here.
      const reached = status === 'incomplete' ? 'in_progress' : status;
      return { type: 'apply_patch_call', ...head, status: reached, operation };
    }
  }
}

/** Replaces an interrupted or missing action by a wait. */
function toAction(value: unknown): Record<string, unknown> {
  const action = (typeof value === 'object' ? value : null) as Record<string, unknown> | null;
  return typeof action?.type === 'string' ? action : { type: 'wait' };
}

/** Without a grammar, a model may write one command instead of a list. */
function toTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))) : [];
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function toNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function toVariables(value: unknown): Record<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, each]) => [name, String(each)]));
}
