// Every row of the specification in every mode that it is about: look for its number in the tables under rows/.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HostedMode, type Mode } from '../support/modes.js';
import { ALL, LOCAL } from './row.js';
import { modeRows } from './rows/1-modes.js';
import { requestRows } from './rows/2.1-request.js';
import { bodyRows } from './rows/2.2-to-2.5-bodies.js';
import { endpointRows } from './rows/4-endpoints.js';
import { authenticationRows } from './rows/5-authentication.js';
import { limitRows } from './rows/8-limits.js';
import { versioningRows } from './rows/9-versioning.js';

const ROWS = [
  ...modeRows,
  ...requestRows,
  ...bodyRows,
  ...endpointRows,
  ...authenticationRows,
  ...limitRows,
  ...versioningRows,
];

/**
 * All testable points and table rows of the specification, and their modes. Not included: the start of the desktop app
 * and of a deployment (1.6).
 */
const SPECIFICATION: readonly (readonly [row: string, modes: readonly Mode[]])[] = [
  ...['1.1', '1.2', '1.3', '1.4', '1.5 base address', '1.5 model name'].map((row) => [row, ALL] as const),
  ['1.6 runtime server', ['runtime']],
  ...['model', 'messages', 'stream', 'temperature', 'top_p', 'top_k', 'max_tokens', 'repeat_penalty'].map(
    (field) => [`2.1 ${field}`, ALL] as const,
  ),
  ...['repetition_penalty', 'min_p', 'stop', 'non-standard parameters'].map((field) => [`2.1 ${field}`, ALL] as const),
  ...['2.2 role', '2.2 content', '2.3 text part', '2.3 image part'].map((row) => [row, ALL] as const),
  ...['2.4 choices', '2.4 chunks', '2.5', '4 GET /v1/models', '4 POST /v1/chat/completions', '4 paths'].map(
    (row) => [row, ALL] as const,
  ),
  ...['4 rule 1', '4 rule 2', '4 rule 4', '4 rule 5'].map((row) => [row, ALL] as const),
  ['4 rule 3', ['desktop']],
  ['5 private deployment', ['serverless']],
  ['5 local servers', LOCAL],
  ['8 typical ranges', ALL],
  ['9.1', ALL],
];

const complete = suite('spec: the tables');

complete('have every row of the specification, and no row twice', () => {
  const missing = SPECIFICATION.flatMap(([row, modes]) =>
    modes
      .filter((mode) => !ROWS.some((candidate) => candidate.row === row && candidate.modes.includes(mode)))
      .map((mode) => `${row}, ${mode}`),
  );
  assert.equal(missing, []);
  const titles = ROWS.flatMap(({ row, says, modes }) => modes.map((mode) => `${mode} ${row}: ${says}`));
  assert.is(new Set(titles).size, titles.length);
});

complete.run();

for (const mode of ALL) {
  const test = suite(`spec: ${mode}`);
  let hosted: HostedMode;
  test.before(async () => {
    hosted = await HostedMode.start(mode);
  });
  test.after(() => hosted.stop());
  for (const { row, says, modes, check } of ROWS) {
    if (modes.includes(mode)) test(`${row}: ${says}`, () => check(hosted));
  }
  test.run();
}
