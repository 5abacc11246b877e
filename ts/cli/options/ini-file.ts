/** Parses INI files as llama-server does: sections, keys and values, comments after `;` and `#`. */
import { closeSync, openSync, readSync } from 'node:fs';
import { type ChasquiError, invalidOptions } from '../../errors.js';

export interface IniEntry {
  key: string;
  value: string;
  /** Counted from 1. */
  line: number;
}

export interface IniSection {
  /** Empty for entries before the first header. */
  name: string;
  line: number;
  entries: IniEntry[];
}

/** Enough for thousands of models with a dozen options each. */
const MAX_BYTES = 2 ** 20;
const MAX_SECTIONS = 10_000;

/** @throws {ChasquiError} `invalid_options`, with the file and the line. */
export function readIniFile(file: string): IniSection[] {
  const sections: IniSection[] = [{ name: '', line: 1, entries: [] }];
  const text = readText(file).replace(/^\uFEFF/, '');
  for (const [at, whole] of text.split(/\r\n|\n|\r/).entries()) {
    const line = at + 1;
    const [, code = ''] = /^[ \t]*(.*?)[ \t]*(?:[;#].*)?$/.exec(whole) ?? [];
    if (code === '') continue;
    const [, name] = /^\[[ \t]*([^\]]+?)[ \t]*\]$/.exec(code) ?? [];
    const [, key, value = ''] = /^([a-zA-Z_][\w.-]*)[ \t]*=[ \t]*(.*)$/.exec(code) ?? [];
    if (name !== undefined) {
      const same = sections.find((each) => each.name === name);
      if (same !== undefined)
        throw wrongIn(file, line, `the section [${shown(name)}] stands in line ${same.line} already`);
      sections.push({ name, line, entries: [] });
      if (sections.length > MAX_SECTIONS) throw wrongIn(file, line, `more than ${MAX_SECTIONS} sections`);
    } else if (key !== undefined) {
      sections.at(-1)?.entries.push({ key, value, line });
    } else {
      throw wrongIn(
        file,
        line,
        `neither a section such as [name] nor an option such as ctx-size = 4096: ${shown(code)}`,
      );
    }
  }
  return sections;
}

export function wrongIn(file: string, line: number, what: string): ChasquiError {
  return invalidOptions(`${file}, line ${line}: ${what}.`);
}

export function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

function readText(file: string): string {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  let length: number;
  try {
    const opened = openSync(file, 'r');
    try {
      length = readSync(opened, bytes, 0, bytes.length, 0);
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    throw invalidOptions(`${file} cannot be read: ${(error as Error).message}.`);
  }
  if (length > MAX_BYTES) throw invalidOptions(`${file} has more than ${MAX_BYTES} bytes.`);
  return bytes.toString('utf8', 0, length);
}
