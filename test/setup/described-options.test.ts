// The compiled declaration of the load options, which editors show.
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.js';
import { described } from '../../ts/options/option-row.js';
import { root } from '../support/places.js';

test('the compiled declaration describes each load option', () => {
  const declaration = fs.readFileSync(path.join(root, 'dist', 'options', 'described-load-options.d.ts'), 'utf8');
  const text = declaration.replaceAll(/\s*\n\s*(\*(?!\/)\s*)?/g, ' ');
  for (const [name, row] of Object.entries(LOAD_OPTIONS)) {
    const expected = `/** ${described(row)} */ ${name}?: Value<'${name}'>;`;
    assert.ok(text.includes(expected), expected);
  }
});

test.run();
