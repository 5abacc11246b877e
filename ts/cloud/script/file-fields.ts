/** Finds and replaces the option fields that name files. */
import type { Json } from './canonical-json.js';

type Options = { readonly [name: string]: Json };

export interface FileField {
  /** Path to the field, such as `['models', 1, 'mmproj']`. */
  readonly at: readonly (string | number)[];
  /** Its value, such as `file:./model.gguf`. */
  readonly text: string;
}

const FILES = ['model', 'mmproj', 'draftModel'];

/** Requires validated options. */
export function fileFieldsOf(options: Options): FileField[] {
  const { adapters = {}, models = [] } = options;
  const own = FILES.flatMap((name) => fieldOf([name], options[name]));
  const ofAdapters = Object.entries(adapters as Options).flatMap(([name, adapter]) => [
    ...fieldOf(['adapters', name], adapter),
    ...fieldOf(['adapters', name, 'file'], (adapter as { file?: Json } | null)?.file),
  ]);
  const ofModels = (models as readonly Options[]).flatMap((model, index) =>
    fileFieldsOf(model).map(({ at, text }) => ({ at: ['models', index, ...at], text })),
  );
  return [...own, ...ofAdapters, ...ofModels];
}

export function withField(options: Options, at: FileField['at'], value: Json): Options {
  return replace(options, at, value) as Options;
}

/** For messages: `models[1].mmproj`. */
export function nameOfField(at: FileField['at']): string {
  return at.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${part}`)).join('');
}

function fieldOf(at: FileField['at'], value: Json | undefined): FileField[] {
  return typeof value === 'string' ? [{ at, text: value }] : [];
}

function replace(from: Json, [first, ...rest]: FileField['at'], value: Json): Json {
  if (first === undefined) return value;
  if (Array.isArray(from)) return from.map((each, index) => (index === first ? replace(each, rest, value) : each));
  const members = from as Options;
  return { ...members, [first]: replace(members[first] as Json, rest, value) };
}
