/**
 * Anthropic's tools that run in the client, as functions with their published schemas. The version in a type, such as
 * `bash_20250124`, is a date.
 */
import { numbers, oneOf, parametersBy, parametersOf, text, whole } from '../../shared/tools/tool-parameters.js';
import type { AnthropicTool } from './schema.js';

interface ClientTool {
  name: string;
  description: string;
  parameters: object;
}

const bash: ClientTool = {
  name: 'bash',
  description: 'Runs commands in a bash session, which keeps its state between calls.',
  parameters: parametersOf(
    {
      command: text('The command to run.'),
      restart: { type: 'boolean', description: 'True restarts the session instead.' },
    },
    'command',
  ),
};

const file = {
  path: text('Absolute path of the file or directory.'),
  file_text: text('For `create`: the content of the new file.'),
  old_str: text('For `str_replace`: the text to replace. It must occur exactly once.'),
  insert_line: whole('For `insert`: the line after which the text is inserted; 0 is the start of the file.'),
  view_range: numbers(2, 'For `view`: the first and the last line, counted from 1; -1 is the end of the file.'),
};
const newText = text('For `str_replace`: the new text.');
const insertText = text('For `insert`: the text to insert.');
const create: [string[], string[]] = [['create'], ['path', 'file_text']];
const replace: [string[], string[]] = [['str_replace'], ['path', 'old_str', 'new_str']];
const insert: [string[], string[]] = [['insert'], ['path', 'insert_line', 'insert_text']];

const EDITOR = 'Views, creates and edits text files.';
const editor: ClientTool = {
  name: 'str_replace_based_edit_tool',
  description: EDITOR,
  parameters: parametersBy('command', { ...file, new_str: newText, insert_text: insertText }, [
    [['view'], ['path']],
    create,
    replace,
    insert,
  ]),
};

/** Versions before 20250429. */
const olderEditor: ClientTool = {
  name: 'str_replace_editor',
  description: EDITOR,
  parameters: parametersBy(
    'command',
    { ...file, new_str: text('For `str_replace`: the new text. For `insert`: the text to insert.') },
    [[['view', 'undo_edit'], ['path']], create, replace, [['insert'], ['path', 'insert_line', 'new_str']]],
  ),
};

const memory: ClientTool = {
  name: 'memory',
  description: 'Reads and writes files below /memories, which are kept between conversations.',
  parameters: parametersBy(
    'command',
    {
      ...file,
      path: text('Path of the file or directory, below /memories; for all commands but `rename`.'),
      new_str: newText,
      insert_text: insertText,
      old_path: text('For `rename`: the path of the file.'),
      new_path: text('For `rename`: its new path.'),
    },
    [[['view', 'delete'], ['path']], create, replace, insert, [['rename'], ['old_path', 'new_path']]],
  ),
};

const CLICKS = ['left_click', 'right_click', 'middle_click', 'double_click', 'triple_click'];
const computer: ClientTool = {
  name: 'computer',
  description: 'Uses the mouse and the keyboard of a computer, and takes screenshots.',
  parameters: parametersBy(
    'action',
    {
      coordinate: numbers(2, 'x and y in pixels, from the top left corner.'),
      start_coordinate: numbers(2, 'For `left_click_drag`: where it starts.'),
      text: text('For `type`: the text. For `key` and `hold_key`: the keys, such as `ctrl+s`.'),
      duration: { type: 'number', description: 'For `wait` and `hold_key`: seconds.' },
      scroll_direction: oneOf('For `scroll`.', 'up', 'down', 'left', 'right'),
      scroll_amount: whole('For `scroll`: the number of wheel clicks.'),
      region: numbers(4, 'For `zoom`: left, top, right and bottom in pixels.'),
    },
    [
      [['key', 'type'], ['text']],
      [[...CLICKS, 'mouse_move'], ['coordinate']],
      [['screenshot', 'cursor_position', 'left_mouse_down', 'left_mouse_up'], []],
      [['left_click_drag'], ['start_coordinate', 'coordinate']],
      [['scroll'], ['coordinate', 'scroll_direction', 'scroll_amount']],
      [['hold_key'], ['text', 'duration']],
      [['wait'], ['duration']],
      [['zoom'], ['region']],
    ],
  ),
};

const VERSIONED = /^(bash|text_editor|memory|computer)_(\d{8})$/;
const FIRST_EDITOR_WITHOUT_UNDO = '20250429';

/** Null for other tools. */
export function clientToolOf({ type }: AnthropicTool): ClientTool | null {
  const [, kind, version = ''] = VERSIONED.exec(type ?? '') ?? [];
  if (kind === 'bash') return bash;
  if (kind === 'text_editor') return version < FIRST_EDITOR_WITHOUT_UNDO ? olderEditor : editor;
  if (kind === 'memory') return memory;
  return kind === 'computer' ? computer : null;
}

/** The definition as a function, with the settings of the request. */
export function toClientFunction(
  tool: AnthropicTool,
  { name, description, parameters }: ClientTool,
): Pick<AnthropicTool, 'name' | 'description' | 'input_schema'> {
  const { display_width_px: width, display_height_px: height, max_characters: characters } = tool;
  const facts = [
    ...(width != null && height != null ? [`The screen has ${width} x ${height} pixels.`] : []),
    ...(characters != null ? [`\`view\` shows ${characters} characters at most.`] : []),
  ];
  return {
    name: tool.name ?? name,
    description: [description, ...facts].join(' '),
    input_schema: parameters as Record<string, unknown>,
  };
}
