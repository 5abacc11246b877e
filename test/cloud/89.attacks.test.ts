// A bystander's app while three organisations attack the cloud. bench/attacks.ts runs it for longer.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attackCloud } from '../support/attack-cloud.js';

const test = suite('cloud: attacks');

test('a bystander loses no request', async () => {
  const { sent, lost, unloadedMs, loadedMs, attacks } = await attackCloud(15_000);
  console.log(`p99 of the first byte: ${unloadedMs} ms, attacked ${loadedMs} ms`);
  assert.equal(lost, []);
  assert.ok(sent > 20);
  const refused: Record<string, string> = {
    'tiny machine': 'script_invalid',
    'huge cache': 'script_invalid',
    'many GPUs': 'script_invalid',
    'all memory': 'deployment_refused',
    'the token of the operator': 'script_invalid',
    'calls of the bystander app': '401',
    'large body without a key': '401',
    'endless chat template': 'failed',
  };
  for (const [name, outcome] of Object.entries(refused)) assert.equal(attacks[name]?.outcomes, [outcome], name);
});

test.run();
