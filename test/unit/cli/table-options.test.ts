import { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { explainFailure } from '../../../ts/cli/errors/explain-failure.js';
import { variableOf } from '../../../ts/cli/options/environment.js';
import { HOSTING_OPTIONS } from '../../../ts/cli/options/hosting-option-table.js';
import { withFlags } from '../../../ts/cli/options/option-names.js';
import { parseOption } from '../../../ts/cli/options/parse-option.js';
import { addTableOptions, defaultText, expandAliases, givenOptions } from '../../../ts/cli/options/table-options.js';
import { ChasquiError } from '../../../ts/errors.js';
import { LOAD_OPTIONS } from '../../../ts/options/load-option-table.js';
import { fits, inFlagUnit, type OptionRow, type OptionRows } from '../../../ts/options/option-row.js';

const test = suite('unit: table options');
const ROWS: OptionRows = { ...HOSTING_OPTIONS, ...LOAD_OPTIONS };
const rows: [name: string, row: OptionRow][] = Object.entries(ROWS);

function byFlag(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Record<string, unknown> {
  const command = addTableOptions(new Command('serve'), ROWS)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse(expandAliases(args, ROWS), { from: 'user' });
  return givenOptions(ROWS, command.opts(), environment);
}

function byVariable(environment: NodeJS.ProcessEnv): Record<string, unknown> {
  return givenOptions(ROWS, {}, environment);
}

test('no two options share a name', () => {
  assert.is(rows.length, Object.keys(HOSTING_OPTIONS).length + Object.keys(LOAD_OPTIONS).length);
  const names = rows.flatMap(([, { flag, short, aliases = [] }]) => [flag, short, ...aliases].filter(Boolean));
  assert.is(new Set(names).size, names.length);
  const variables = rows.map(([, row]) => variableOf(row)).filter((variable) => variable !== null);
  assert.is(new Set(variables).size, variables.length);
  for (const variable of variables) assert.match(variable, /^CHASQUI_[A-Z]+(_[A-Z]+)*$/);
});

for (const [name, row] of rows) {
  test(`${name}: says what it does and what holds without it`, () => {
    assert.match(row.help, /^[^.].*[^. ]$/);
    assert.ok(defaultText(row).length > 0);
    const hasDefault = 'default' in row;
    assert.ok(hasDefault || row.otherwise !== undefined, 'it has a default, or words for what holds without one');
    if (hasDefault) assert.ok(fits(row, row.default), `the default ${row.default} is a value that it takes`);
    if (hasDefault && row.otherwise === undefined && row.type !== 'boolean') {
      assert.equal(parseOption(row, defaultText(row)), row.default, 'help shows the default as a flag takes it');
    }
    for (const [, other] of row.help.matchAll(/`([^`]*)`/g)) assert.ok(other !== undefined && other in ROWS, other);
    for (const other of row.excludes ?? []) assert.ok(ROWS[other]?.excludes?.includes(name), other);
  });
}

/** Texts that an option takes, with their values, and texts that it does not take. */
function samples(row: OptionRow): { taken: [text: string, value: unknown][]; refused: string[] } {
  switch (row.type) {
    case 'boolean':
      return { taken: [], refused: [] };
    case 'integer':
    case 'number': {
      const { min, max } = inFlagUnit(row);
      const size = row.flagUnit?.size ?? 1;
      const ends: [string, unknown][] = [min, max].map((end) => [String(end), end * size]);
      const words: [string, unknown][] = (row.words ?? []).map((word) => [word, word]);
      const fraction = row.type === 'integer' ? [`${min}.5`] : [];
      return { taken: [...ends, ...words], refused: [String(min - 1), String(max + 1), '1e1', 'x', ' 1', ...fraction] };
    }
    case 'choice':
      return { taken: row.choices.map((choice) => [choice, choice]), refused: ['x', row.choices.join()] };
    case 'names': {
      if (row.each?.pattern.test('top_k')) return { taken: [['min_p;top_k', ['min_p', 'top_k']]], refused: ['top_k,'] };
      if (row.each === undefined) return { taken: [['a,b', ['a', 'b']]], refused: ['a,', ','] };
      const name = ['local', 'vllm'].find((each) => row.each?.pattern.test(each)) ?? '';
      return { taken: [[name, [name]]], refused: [`${name},`, 'nonsense'] };
    }
    case 'paths':
      return { taken: [['a,b', ['a,b']]], refused: [] };
    case 'texts': {
      const pattern = row.pattern ?? /./;
      const taken = ['key=int:1', 'exps=CPU', 'a,b'].filter((text) => pattern.test(text));
      return {
        taken: taken.map((text) => [text, [text]]),
        refused: row.pattern === undefined ? ['x'.repeat(row.maxLength + 1)] : ['x'],
      };
    }
    case 'shares':
      return { taken: [['3,.5,0', [3, 0.5, 0]]], refused: ['3,', '-1', '0,0', 'x'] };
    case 'string':
    case 'path':
      return { taken: [['a b', 'a b'], ...(row.nullable ? [['none', null] as [string, unknown]] : [])], refused: [] };
  }
}

for (const [name, row] of rows) {
  const variable = variableOf(row);
  if (row.flag === null || variable === null || row.type === 'boolean') continue;
  const { flag } = row;
  const { taken, refused } = samples(row);
  test(`${name}: ${flag} and ${variable} take the same`, () => {
    for (const [text, value] of taken) {
      const expected = { [name]: value };
      assert.equal(byFlag([flag, text]), expected, `${flag} ${text}`);
      assert.equal(byVariable({ [variable]: text }), expected, `${variable}=${text}`);
      assert.ok(fits(row, value));
    }
    for (const text of refused.filter((each) => each !== row.unset)) {
      assert.throws(
        () => byFlag([`${flag}=${text}`]),
        (error: Error) => error.message.includes(flag) && error.message.includes('It must be '),
        `${flag} ${text}`,
      );
      assert.throws(
        () => byVariable({ [variable]: text }),
        (error: Error) => error instanceof ChasquiError && error.message.includes(`${variable} is '${text}'`),
        `${variable}=${text}`,
      );
    }
  });
}

for (const [name, row] of rows.filter(([, { type }]) => type === 'boolean')) {
  const variable = variableOf(row) as string;
  const flag = row.flag as string;
  test(`${name}: ${flag} and ${variable} turn it on, and --no-${flag.slice(2)} off`, () => {
    assert.equal(byFlag([]), {});
    assert.equal(byFlag([flag]), { [name]: true });
    assert.equal(byVariable({ [variable]: '1' }), { [name]: true });
    assert.equal(byVariable({ [variable]: 'true' }), { [name]: true });
    assert.equal(byVariable({ [variable]: '0' }), { [name]: false });
    assert.equal(byFlag([`--no-${flag.slice(2)}`], { [variable]: '1' }), { [name]: false });
    assert.throws(
      () => byVariable({ [variable]: 'yes' }),
      (error: Error) =>
        error.message === `The environment variable ${variable} is 'yes', but must be 1, 0, true or false.`,
    );
  });
}

test('a flag goes before its variable, whatever that says; an empty variable is not set', () => {
  assert.equal(byFlag(['--parallel', '2'], { CHASQUI_PARALLEL: '3' }), { parallel: 2 });
  assert.equal(byFlag(['--parallel', '2'], { CHASQUI_PARALLEL: 'many' }), { parallel: 2 });
  assert.equal(byFlag(['--no-mmproj'], { CHASQUI_MMPROJ: 'a.gguf' }), { mmproj: null });
  assert.equal(byVariable({ CHASQUI_PARALLEL: '', CHASQUI_STRICT: '', CHASQUI_HOME: '' }), {});
});

test('a flag goes before the variable of an option that it excludes', () => {
  assert.equal(byFlag(['--model', 'a'], { CHASQUI_MODEL_URL: 'b' }), { model: ['a'] });
  assert.equal(byFlag(['--model-url', 'b'], { CHASQUI_MODEL: 'a' }), { modelUrl: 'b' });
  assert.throws(
    () => byVariable({ CHASQUI_MODEL: 'a', CHASQUI_MODEL_URL: 'b' }),
    (error: Error) => /CHASQUI_MODEL and CHASQUI_MODEL_URL exclude each other/.test(error.message),
  );
});

test('a flag for a path may be given several times', () => {
  assert.equal(byFlag(['--model', 'a,b', '-m', 'c'], { CHASQUI_MODEL: 'd' }), { model: ['a,b', 'c'] });
});

test('other names of an option mean the same', () => {
  assert.equal(byFlag(['--image-cache-mb', '3']), { imageCacheMiB: 3 });
  assert.equal(byFlag(['-ngl', '3']), { gpuLayers: 3 });
  assert.equal(byFlag(['--ctx_size', '512', '--flash_attn=on', '--no_strict']), {
    contextSize: 512,
    flashAttention: 'on',
    strict: false,
  });
  assert.equal(expandAliases(['--stop', '--my_stop', 'a_b'], ROWS), ['--stop', '--my_stop', 'a_b']);
  assert.equal(byFlag(['-c', '512', '-j', '2']), { contextSize: 512, parallel: 2 });
});

test('lists may be given in pieces', () => {
  assert.equal(byFlag(['--allowed-host', 'a', '--allowed-host', 'b,c']), { allowedHosts: ['a', 'b', 'c'] });
});

test('CHASQUI_PORT set by Kubernetes is ignored', () => {
  assert.equal(byVariable({ CHASQUI_PORT: 'tcp://10.96.0.1:8080' }), {});
  assert.throws(() => byVariable({ CHASQUI_PORT: 'http' }));
});

test('a long value is not repeated in full', () => {
  assert.throws(
    () => byVariable({ CHASQUI_PARALLEL: '9'.repeat(10_000) }),
    (error: Error) => error.message.length < 300,
  );
});

test('messages from below name flags on the command line', () => {
  assert.is(
    withFlags('`draftMin` must not be larger than `draftMax`.'),
    '--draft-min must not be larger than --draft-max.',
  );
  assert.is(withFlags('There is no device `Vulkan0`; `toString`'), 'There is no device `Vulkan0`; `toString`');
  const error = new ChasquiError('invalid_options', '`tensorSplit` is [0].');
  assert.is(explainFailure(error), '--tensor-split is [0].');
});

test.run();
