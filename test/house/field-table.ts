// The table of request fields in ts/http/README.md. `npx tsx test/house/field-table.ts` regenerates it.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CHAT_PARAMETERS, type ChatParameter, chatCompletionSchema } from '../../ts/api/shared/chat/chat-schema.ts';
import { defaultOf } from '../../ts/api/shared/chat/field-defaults.ts';
import { desktop } from '../../ts/profiles/desktop.ts';
import { runtime } from '../../ts/profiles/runtime.ts';
import { read, root } from './source-tree.ts';

export const FIELDS_PAGE = 'ts/http/README.md';
const BEGIN = '<!-- This table is made by test/house/field-table.ts. -->\n';
const END = '<!-- The end of the table. -->\n';

const schema = chatCompletionSchema(CHAT_PARAMETERS);

/** Returns the page with its table replaced by the one from the schemas and profiles. */
export function pageWithFields(): string {
  const [before, rest = ''] = read(FIELDS_PAGE).split(BEGIN);
  const [, after] = rest.split(END);
  const lines = ['| field | default | meaning |', '| --- | --- | --- |', ...CHAT_PARAMETERS.map(toLine)];
  return `${before}${BEGIN}\n${lines.join('\n')}\n\n${END}${after}`;
}

function toLine(field: ChatParameter): string {
  const meaning = String(schema.properties[field].description).replaceAll('|', '\\|');
  return `| \`${field}\` | ${defaultText(field)} | ${meaning}${modesText(field)} |`;
}

function defaultText(field: ChatParameter): string {
  const [usual, other] = [runtime, desktop].map((profile) => defaultOf(field, schema.properties[field], profile));
  if (usual === undefined) return '';
  return usual === other ? String(usual) : `${usual}; ${other} in desktop mode`;
}

/** The serverless mode has the fields of the runtime mode. */
function modesText(field: ChatParameter): string {
  if (desktop.unsupportedParameters.includes(field)) return ' Not in desktop mode.';
  return runtime.unsupportedParameters.includes(field) ? ' In desktop mode only.' : '';
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  fs.writeFileSync(path.join(root, FIELDS_PAGE), pageWithFields());
}
