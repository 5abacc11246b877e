/** The language of the pages: chosen in the settings, or by the browser. Only its catalogue is loaded. */
import { signal } from '@preact/signals';
import type { Settings } from '../../api-types.js';
import type english from '../languages/en.json';

export type Language = NonNullable<Settings['language']>;
export type MessageKey = keyof typeof english;
type Text = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);
type Catalogue = Readonly<Record<MessageKey, Text>>;

interface Entry {
  name: string;
  load: () => Promise<{ default: Catalogue }>;
}

export const languages: Readonly<Record<Language, Entry>> = {
  en: { name: 'English', load: () => import('../languages/en.json') },
  de: { name: 'Deutsch', load: () => import('../languages/de.json') },
  es: { name: 'Español', load: () => import('../languages/es.json') },
  fr: { name: 'Français', load: () => import('../languages/fr.json') },
  pt: { name: 'Português', load: () => import('../languages/pt.json') },
  ja: { name: '日本語', load: () => import('../languages/ja.json') },
  zh: { name: '简体中文', load: () => import('../languages/zh.json') },
};

/** Also read by theme.ts, before the first paint. */
const storageKey = 'chasqui.language';

const shown = signal<{ language: Language; messages: Catalogue } | undefined>(undefined);
let wanted: Language | undefined;

/** For `Intl`. */
export function locale(): Language {
  return shown.value?.language ?? 'en';
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(languages, name);
}

function ofBrowser(): Language {
  return navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find(isLanguage) ?? 'en';
}

/** By default, the language is the one that was shown last, or that of the browser. */
export async function startLanguage(language = localStorage.getItem(storageKey) ?? ''): Promise<void> {
  await show(isLanguage(language) ? language : ofBrowser());
}

/** `null`: the language of the browser. */
export function setLanguage(chosen: Language | null): void {
  // Without the catalogue, as while the app restarts, the current language stays.
  void show(chosen ?? ofBrowser()).catch(() => undefined);
}

async function show(language: Language): Promise<void> {
  if (wanted === language) return;
  wanted = language;
  try {
    const { default: messages } = await languages[language].load();
    if (wanted !== language) return;
    shown.value = { language, messages };
    document.documentElement.lang = language;
    localStorage.setItem(storageKey, language);
  } catch (error) {
    if (wanted === language) wanted = shown.value?.language;
    throw error;
  }
}

/** Compact from 10,000 on. */
export function formatNumber(value: number): string {
  const compact = { notation: 'compact', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale(), value < 10_000 ? {} : compact).format(value);
}

/** A message in the language of the pages. `count` selects the plural form. */
export function t(key: MessageKey, values: Readonly<Record<string, string | number>> = {}): string {
  const text: Text = shown.value?.messages[key] ?? key;
  const form = typeof text === 'string' ? text : (text[pluralOf(values.count)] ?? text.other);
  return form.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    return typeof value === 'number' ? formatNumber(value) : (value ?? placeholder);
  });
}

function pluralOf(count: string | number | undefined): Intl.LDMLPluralRule {
  return new Intl.PluralRules(locale()).select(Number(count));
}

/** A list of alternatives, such as `a, b or c`. */
export function anyOf(words: readonly string[]): string {
  return new Intl.ListFormat(locale(), { type: 'disjunction' }).format(words);
}
