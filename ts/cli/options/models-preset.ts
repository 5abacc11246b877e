/** Reads `--models-preset`: models with individual options, in the INI format of llama-server. */

import type { LoadOptions } from '../../engine/load-options.js';
import { hubFileName } from '../../hub/model-name.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import type { OptionRow } from '../../options/option-row.js';
import type { ModelPreset } from '../../server/model-specs.js';
import { variableOf } from './environment.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';
import { type IniEntry, type IniSection, readIniFile, shown, wrongIn } from './ini-file.js';
import { parseOption, wantedText } from './parse-option.js';

/** `hf`: the name of its model in the hub. */
export type PresetSection = ModelPreset & { hf?: string };

export interface ModelsPreset {
  models: PresetSection[];
  /** Options of the section `[*]`. */
  defaults: LoadOptions;
  /** Messages about options of llama-server without effect in chasqui, with file and line. */
  ignored: string[];
}

type Section = Omit<PresetSection, 'id'> & { hfFile?: string };

/** Names of llama-server that are no aliases in chasqui. */
const NAMES_THERE: Readonly<Record<string, string>> = {
  'n-parallel': 'parallel',
  'lora-scaled': 'lora',
  m: 'model',
  hf: 'hf-repo',
  hfr: 'hf-repo',
  hff: 'hf-file',
  'sleep-idle-seconds': 'ttl',
};
const LLAMA_VARIABLE = /^LLAMA_ARG_/;

/** Options without effect: in chasqui they belong to the server, or are always on. */
const IGNORED = ['host', 'port', 'api-key', 'alias', 'jinja', 'stop-timeout', 'dedup-cache-models'];

const OF_ONE_MODEL = ['model', 'hf-repo', 'hf-file', 'lora'];

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['on', 'enabled', 'true', '1'].map((text) => [text, true] as const),
  ...['off', 'disabled', 'false', '0'].map((text) => [text, false] as const),
]);

const ALL_MODELS = '*';
const ROWS = new Map(
  Object.entries<OptionRow>(LOAD_OPTIONS).flatMap(([name, row]) =>
    namesOf(row).map((key) => [key, [name, row] as const]),
  ),
);

/** @throws {ChasquiError} `invalid_options`, with the file, the line and the key. */
export function readModelsPreset(file: string): ModelsPreset {
  const preset: ModelsPreset = { models: [], defaults: {}, ignored: [] };
  const sections = readIniFile(file);
  const version = sections[0]?.entries.find(({ key, value }) => key !== 'version' || value !== '1');
  if (version !== undefined) {
    throw wrongIn(
      file,
      version.line,
      `${version.key} stands before the first section; only version = 1 may stand there`,
    );
  }
  const common = sections.find(({ name }) => name === ALL_MODELS);
  const all = common === undefined ? { options: {} } : toSection(file, common, preset.ignored);
  preset.defaults = all.options;
  for (const section of sections.slice(1)) {
    if (section === common) continue;
    const { options, hfFile, ...own } = toSection(file, section, preset.ignored);
    const hf = hubNameOf(file, section, { ...own, hfFile });
    preset.models.push({ ...all, ...own, ...hf, options: { ...all.options, ...options }, id: section.name });
  }
  return preset;
}

function toSection(file: string, { name, entries }: IniSection, ignored: string[]): Section {
  const section: Section = { options: {} };
  const seen = new Set<string>();
  for (const entry of entries) {
    const key = toFlagName(entry.key);
    const option = ROWS.get(key)?.[0] ?? key;
    if (seen.has(option) && option !== 'lora')
      throw wrongIn(file, entry.line, `${entry.key} is given twice in [${shown(name)}]`);
    seen.add(option);
    if (IGNORED.includes(key))
      ignored.push(`${file}, line ${entry.line}: ${entry.key} means nothing here and is ignored`);
    else if (!readOwn(file, section, key, entry)) readLoadOption(file, section.options, key, entry);
    if (name === ALL_MODELS && OF_ONE_MODEL.includes(key)) {
      throw wrongIn(file, entry.line, `${entry.key} is for one model, not for all of them`);
    }
  }
  return section;
}

function hubNameOf(
  file: string,
  { name, line }: IniSection,
  { hf, hfFile, file: path }: { hf?: string; hfFile: string | undefined; file?: string },
): { hf?: string } {
  if (hf !== undefined && path !== undefined) throw wrongIn(file, line, `[${shown(name)}] has both model and hf-repo`);
  if (hfFile === undefined) return {};
  if (hf === undefined) throw wrongIn(file, line, `[${shown(name)}] has hf-file, but no hf-repo`);
  return { hf: hubFileName(hf, hfFile) };
}

/** Reads an entry that is not an option of `loadModel`. Returns whether it was one. */
function readOwn(file: string, section: Section, key: string, entry: IniEntry): boolean {
  const { value } = entry;
  switch (key) {
    case 'model':
      if (value === '') throw wrongValue(file, entry, 'a path');
      section.file = value;
      return true;
    case 'hf-repo':
    case 'hf-file':
      if (value === '') throw wrongValue(file, entry, 'the name of a model or file in the hub');
      section[key === 'hf-repo' ? 'hf' : 'hfFile'] = value;
      return true;
    case 'load-on-startup':
      section.atStart = toBoolean(file, entry);
      return true;
    case 'pin':
      section.pin = toBoolean(file, entry);
      return true;
    case 'ttl': {
      // llama-server uses -1 for models that stay loaded.
      const seconds = value === '-1' ? 0 : parseOption(HOSTING_OPTIONS.ttl, value);
      if (typeof seconds !== 'number') throw wrongValue(file, entry, wantedText(HOSTING_OPTIONS.ttl));
      section.ttlMs = seconds * 1000;
      return true;
    }
    default:
      return false;
  }
}

function readLoadOption(file: string, options: LoadOptions, key: string, entry: IniEntry): void {
  const [name, row] = ROWS.get(key) ?? [];
  if (name === undefined || row === undefined) {
    const without = key.startsWith('no-') ? ROWS.get(key.slice('no-'.length)) : undefined;
    if (without === undefined) throw wrongIn(file, entry.line, `${entry.key} is no option of a model`);
    readNegated(file, options, without, entry);
    return;
  }
  const value = row.type === 'boolean' ? toBoolean(file, entry) : parseOption(row, entry.value);
  if (value === undefined) throw wrongValue(file, entry, wantedText(row));
  const others = options.lora ?? [];
  Object.assign(options, { [name]: name === 'lora' ? [...others, ...entry.value.split(',')] : value });
}

/** `no-mmproj = true`, `no-verbose = 1`. */
function readNegated(
  file: string,
  options: LoadOptions,
  [name, row]: readonly [string, OptionRow],
  entry: IniEntry,
): void {
  const isNullable = 'nullable' in row && row.nullable;
  if (row.type !== 'boolean' && !isNullable) throw wrongIn(file, entry.line, `${entry.key} is no option of a model`);
  if (toBoolean(file, entry)) Object.assign(options, { [name]: row.type === 'boolean' ? false : null });
}

function toBoolean(file: string, entry: IniEntry): boolean {
  const value = BOOLEANS.get(entry.value);
  if (value !== undefined) return value;
  throw wrongValue(file, entry, 'true or false');
}

function wrongValue(file: string, { key, value, line }: IniEntry, wanted: string): Error {
  return wrongIn(file, line, `${key} is '${shown(value)}', but must be ${wanted}`);
}

/** A key is a long flag without dashes, a short flag, or an environment variable. */
function toFlagName(key: string): string {
  const name = LLAMA_VARIABLE.test(key) ? key.replace(LLAMA_VARIABLE, '').toLowerCase().replaceAll('_', '-') : key;
  return (Object.hasOwn(NAMES_THERE, name) ? NAMES_THERE[name] : undefined) ?? name;
}

function namesOf(row: OptionRow): string[] {
  const { flag, short, aliases = [] } = row;
  const variable = variableOf(row);
  return [flag, short, ...aliases].flatMap((each) => each?.replace(/^-+/, '') ?? []).concat(variable ?? []);
}
