/** The texts of the tray menu, in the catalogues of the pages. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PAGES } from '../pages.js';

const FOLDER = path.join(PAGES, '..', 'languages');
const KEYS = { open: 'openChasqui', start: 'startServer', stop: 'stopServer', quit: 'quitChasqui' } as const;

type Texts = Readonly<Record<keyof typeof KEYS, string>>;

const known = new Map<string, Texts>();

/** `language` begins with its code, such as `de_DE.UTF-8`. Default: English. */
export function trayTexts(language = ''): Texts {
  const code = language.slice(0, 2).toLowerCase();
  const texts = known.get(code) ?? read(code);
  known.set(code, texts);
  return texts;
}

function read(code: string): Texts {
  const file = path.join(FOLDER, `${code}.json`);
  const isKnown = /^[a-z]{2}$/.test(code) && existsSync(file);
  const messages = JSON.parse(readFileSync(isKnown ? file : path.join(FOLDER, 'en.json'), 'utf8'));
  return Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, messages[key]])) as Texts;
}
