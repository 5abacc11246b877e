// The pages of the desktop app take each visible text from the catalogues of ts/desktop/ui/languages.
import { transformSync } from 'esbuild';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, read } from './source-tree.ts';

type Text = string | Record<string, string>;
type Catalogue = Record<string, Text>;

const folder = 'ts/desktop/ui/languages';
const catalogues = files(folder, /\.json$/).map((file) => ({
  language: file.slice(folder.length + 1, -'.json'.length),
  messages: JSON.parse(read(file)) as Catalogue,
}));
const english = catalogues.find(({ language }) => language === 'en')?.messages ?? {};

/** The plural forms of a message. */
const formsOf = (text: Text | undefined): string[] => (typeof text === 'object' ? Object.values(text) : [text ?? '']);
const placeholdersIn = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

for (const { language, messages } of catalogues) {
  test(`${language} has all messages, with the same placeholders`, () => {
    assert.equal(Object.keys(messages).sort(), Object.keys(english).sort());
    for (const [key, text] of Object.entries(english)) {
      const expected = placeholdersIn(formsOf(text).at(-1) as string);
      const forms = formsOf(messages[key]);
      assert.equal(placeholdersIn(forms.at(-1) as string), expected, key);
      // "One chat" needs no number.
      for (const form of forms)
        assert.ok(
          placeholdersIn(form).every((each) => expected.includes(each)),
          key,
        );
      assert.ok(
        forms.every((form) => form.trim() !== ''),
        key,
      );
    }
  });

  test(`${language} has no plural form that the language lacks`, () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    for (const [key, text] of Object.entries(messages)) {
      if (typeof text !== 'object') continue;
      assert.ok('other' in text, key);
      assert.ok(
        Object.keys(text).every((form) => (pluralCategories as string[]).includes(form)),
        key,
      );
    }
  });
}

/** Names, code and formats that are the same in all languages. */
const names = new Set([
  'chasqui',
  'CSV',
  'JSON',
  'KV',
  'LM Studio',
  'Markdown',
  'Ollama',
  'Vercel AI SDK',
  'tok/s',
  'p50',
  'p95',
  'hf_…',
]);

const elementTexts = /\b(?:children|label|title|placeholder|help|alt|action|field|"aria-label"): $/;
const notShown =
  /(?:\brel|\bkeys|\bpattern|\baccept|\bhref|\bkey|\btype|\bicon|\bformat): $|(?:from|import) $|[!=]== $|\bt\($|case $|\bclass: [^,{}]*$/;
/** Selectors, addresses and keys of messages. */
const isReference = (text: string) => /^(?:[./]|https?:)/.test(text) || Object.hasOwn(english, text);

/** String literals of a script that look like text for people, outside calls of `t`. */
function visibleTexts(file: string): string[] {
  const { code } = transformSync(read(file), {
    loader: file.endsWith('x') ? 'tsx' : 'ts',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    supported: { 'template-literal': false },
    legalComments: 'none',
    charset: 'utf8',
  });
  const texts: string[] = [];
  for (const { 0: literal, index } of code.matchAll(/"(?:\\.|[^"\\\n])*"|\/\/.*|\/\*[\s\S]*?\*\//g)) {
    if (!literal.startsWith('"')) continue;
    const text = literal.slice(1, -1).trim();
    const before = code.slice(Math.max(0, index - 100), index);
    if (names.has(text) || isReference(text) || notShown.test(before) || !/\p{L}{2}/u.test(text)) continue;
    const isSentence = /^\p{Lu}\p{Ll}+\b(?!-)|\p{L}{2,} \p{L}{2,}|\p{L} ?…/u.test(text);
    if (isSentence || elementTexts.test(before)) texts.push(`${file}: ${literal}`);
  }
  return texts;
}

/** The page of `chasqui serve` is in English. */
const pages = files('ts/desktop/ui', /\.tsx$/).filter((file) => !file.includes('/web-page/'));

test('no visible text of the pages bypasses the catalogues', () => {
  assert.ok(pages.length > 30);
  assert.equal(pages.flatMap(visibleTexts), []);
});

test('every message is used', () => {
  const code = [...files('ts/desktop/ui', /\.tsx?$/), ...files('ts/desktop/tray', /\.ts$/)].map(read).join('\n');
  const unused = Object.keys(english).filter((key) => !code.includes(`'${key}'`) && !code.includes(`"${key}"`));
  assert.equal(unused, []);
});

test('messages with placeholders are called with values', () => {
  for (const file of files('ts/desktop/ui', /\.tsx?$/)) {
    for (const [call, key = ''] of read(file).matchAll(/\bt\('(\w+)'\)/g)) {
      assert.equal(placeholdersIn(formsOf(english[key]).at(-1) as string), [], `${file}: ${call}`);
    }
  }
});

test.run();
