// docs/library.md, generated from the exports of ts/index.ts: npx tsx test/house/library-page.ts
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.ts';
import { described } from '../../ts/options/option-row.ts';
import { resolveImport } from './import-graph.ts';
import { read, root } from './source-tree.ts';

export const LIBRARY_PAGE = 'docs/library.md';
const INDEX = 'ts/index.ts';

/** Exports that belong together; all others follow. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'Load a model': ['loadModel', 'ProcessOptions', 'LoadHooks', 'LoadOptions'],
  'Find a model': ['resolveModel', 'ResolveOptions', 'ResolvedModel', 'inspect', 'ModelFacts', 'fits', 'MemoryFit'],
  Models: ['Engine', 'Model', 'SupervisedEngine', 'ModelInfo'],
  Requests: ['GenerateRequest', 'MessagesRequest', 'PromptRequest', 'GenerateOptions', 'Job', 'SamplingSettings'],
  Messages: ['GenerateMessage', 'GeneratePart', 'GenerateImagePart', 'GenerateImageUrlPart', 'GenerateTool'],
  Completions: ['ReplyStream', 'ReplyToken', 'ToolCallDelta', 'Reply', 'ReplyFinish', 'Finish'],
  Sessions: ['ChatSession', 'SessionOptions', 'SessionTool', 'SendOptions'],
  Clients: ['createFetch', 'createServer', 'ServerOptions', 'ModelServer'],
};

export function libraryPage(): string {
  const files = exportedFiles();
  const known = Object.values(SECTIONS).flat();
  const sections = { ...SECTIONS, 'Other exports': [...files.keys()].filter((name) => !known.includes(name)).sort() };
  const texts = Object.entries(sections).map(([title, names]) => {
    const code = names.map((name) => declarationOf(name, files.get(name) ?? INDEX)).join('\n\n');
    const options = names.includes('LoadOptions') ? loadOptions() : '';
    return `## ${title}\n\n\`\`\`ts\n${code}\n\`\`\`\n${options}`;
  });
  return `# Library reference

Generated from the types of \`chasqui\`: \`npx tsx test/house/library-page.ts\`. [The library](../ts/README.md#the-library)
explains them with examples.

${texts.join('\n')}`;
}

/** The exports of the library, with the files that declare them. */
function exportedFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, names = '', from = ''] of read(INDEX).matchAll(/^export (?:type )?\{([^}]+)\} from '(.+)';/gm)) {
    const file = resolveImport(from, INDEX) ?? '';
    for (const name of names.match(/\w+(?=\s*(,|$))/g) ?? []) files.set(name, declaringFile(name, file));
  }
  return files;
}

/** Follows `export type * from`. */
function declaringFile(name: string, file: string): string {
  if (startOf(name, read(file)) >= 0) return file;
  const all = /^export type \* from '(.+)';/m.exec(read(file))?.[1] ?? '';
  return resolveImport(all, file) ?? file;
}

function startOf(name: string, text: string): number {
  const words = 'interface|type|const|(?:async )?function|(?:abstract )?class';
  return text.search(new RegExp(`^export (${words}) ${name}\\b`, 'm'));
}

/** The declaration with its comment, without bodies and private members. */
function declarationOf(name: string, file: string): string {
  const text = read(file);
  const start = startOf(name, text);
  if (start < 0) throw new Error(`${file} does not declare ${name}`);
  const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n$/.exec(text.slice(0, start))?.[0] ?? '';
  const rest = text
    .slice(start)
    .replace(/^export /, '')
    .replaceAll(/^ *\/\/.*\n/gm, '');
  const isFunction = /^(async )?function/.test(rest);
  if (isFunction) return comment + signaturesOf(name, rest);
  const end = /^(interface|abstract class|class)/.test(rest) ? /(^|\{)}$/m : /;$(?!\n {2})/m;
  const found = end.exec(rest);
  const whole = rest.slice(0, (found?.index ?? 0) + (found?.[0].length ?? 0));
  return comment + (/^(abstract )?class/.test(whole) ? publicMembers(name, whole) : whole);
}

/** Overloads, or else the implementation. */
function signaturesOf(name: string, rest: string): string {
  const all = [...`export ${rest}`.matchAll(/^export (?:async )?function (\w+)[\s\S]*?(?:;$| \{$)/gm)]
    .filter((match) => match[1] === name)
    .map(([text]) => text);
  const overloads = all.filter((text) => text.endsWith(';'));
  return (overloads.length > 0 ? overloads : all).map(toSignature).join('\n');
}

function toSignature(text: string): string {
  return text
    .replace(/^export /, '')
    .replace(/\basync /, '')
    .replace(/ \{$/, ';');
}

const HIDDEN = /^ {2}(?:private|protected|override|(?:readonly |async |static |get |set )*#)/;
/** `loadModel` and `generate` create them. */
const CREATED = ['Engine', 'ReplyStream'];

function publicMembers(name: string, text: string): string {
  const [head = '', ...lines] = text.split('\n');
  // Its members are those of the engine.
  if (head.includes(' extends Engine ')) return `${head}}`;
  const members = lines
    .slice(0, -1)
    .join('\n')
    .split(/\n(?= {2}(?:\/\*\*|[\w#[]))/);
  const shown: string[] = [];
  let comment = '';
  for (const member of members) {
    if (/^ {2}\/\*\*/.test(member)) {
      comment = `${member.trimEnd()}\n`;
      continue;
    }
    const isHidden = HIDDEN.test(member) || (CREATED.includes(name) && member.startsWith('  constructor('));
    if (!isHidden) shown.push(comment + signatureOfMember(member));
    comment = '';
  }
  return [head, shown.join('\n'), '}'].join('\n');
}

function signatureOfMember(member: string): string {
  const [signature = ''] = /^[\s\S]*?(?:;$|\S \{$)/m.exec(member) ?? [member];
  return toSignature(signature);
}

function loadOptions(): string {
  const rows = Object.entries(LOAD_OPTIONS).map(
    ([name, row]) => `| \`${name}\` | ${described(row).replaceAll('|', '\\|').replaceAll('<', '&lt;')} |`,
  );
  return `\n### Load options\n\n| option | meaning |\n| --- | --- |\n${rows.join('\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  fs.writeFileSync(path.join(root, LIBRARY_PAGE), libraryPage());
}
