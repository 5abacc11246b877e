// Replaces the declaration of the load options in a freshly compiled dist/ by one that describes each option, for editors.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const MAX_COMMENT = 115;

export async function describeOptions(dist) {
  const load = (name) => import(pathToFileURL(path.join(dist, 'options', `${name}.js`)).href);
  const { LOAD_OPTIONS } = await load('load-option-table');
  const { described } = await load('option-row');
  const fields = Object.entries(LOAD_OPTIONS).map(([name, row]) => {
    return `${comment(described(row).replaceAll('*/', '*\\/'))}\n  ${name}?: Value<'${name}'>;\n`;
  });
  const file = path.join(dist, 'options', 'described-load-options.d.ts');
  fs.writeFileSync(
    file,
    `import type { LOAD_OPTIONS } from './load-option-table.js';
import type { ValueOf } from './option-row.js';

type Value<Name extends keyof typeof LOAD_OPTIONS> = ValueOf<(typeof LOAD_OPTIONS)[Name]>;

/** Other names and values are refused with \`invalid_options\`. */
export interface DescribedLoadOptions {
${fields.join('')}}
`,
  );
}

function comment(text) {
  if (text.length <= MAX_COMMENT - 4) return `  /** ${text} */`;
  const lines = text.replace(new RegExp(`(.{1,${MAX_COMMENT}})( |$)`, 'g'), '   * $1\n');
  return `  /**\n${lines}   */`;
}
