// Small random models of llama.cpp's architectures give the same completions with cached prefixes, drafts, preemption and eight
// streams as alone. CHASQUI_CI=full takes all architectures, otherwise those of FEW.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SweepReport } from '../support/architecture-sweep.js';
import { buildTarget } from '../support/cxx-tests.js';
import { register } from '../support/node-arguments.mjs';
import { root } from '../support/places.js';
import { fileOfOwn } from '../support/tiny-model.js';

const test = suite('llama: architectures');

/** A window, a state beside KV cells, experts beside MLA, and logits that llama.cpp returns wrongly. */
const FEW = ['gemma3 dense', 'granitehybrid dense', 'deepseek2 moe', 'cogvlm dense'];

/** Architectures that llama.cpp's test has too few metadata for. */
const NOT_MADE: Readonly<Record<string, string>> = {
  'arwkv7 dense': 'ranks of its matrices',
  'bert dense': 'token types; test/model/embeddings.test.ts has one',
  'clip dense': 'a projector; test/model/vision.test.ts has one',
  'deepseek2-ocr dense': 'experts',
  'dflash dense': 'layers of another model',
  'eagle3 dense': 'layers of another model',
  'gemma4 dense': 'the layers with a window',
  'gemma4-assistant dense': 'the layers with a window',
  'gptj dense': 'llama.cpp has its name only',
  'graniteswitch dense': 'adapters',
  'jina-bert-v2 dense': 'token types',
  'jina-bert-v3 dense': 'token types',
  'nomic-bert dense': 'token types',
  'nomic-bert-moe dense': 'token types',
  'rwkv7 dense': 'ranks of its matrices',
};

/** Architectures that the engine refuses when it loads them. */
const REFUSED: Readonly<Record<string, string>> = {
  'chameleon dense': 'llama.cpp supports it only in part',
  'dream dense': 'it does not generate token by token',
  'llada dense': 'it does not generate token by token',
  'llada-moe moe': 'it does not generate token by token',
  'plm dense': "shapes that llama.cpp's test describes wrongly",
  'rnd1 moe': 'it does not generate token by token',
  'rwkv6qwen2 dense': "shapes that llama.cpp's test describes wrongly",
  't5 dense': 'it has an encoder',
  't5encoder dense': 'it has an encoder',
  'wavtokenizer-dec dense': 'llama.cpp supports it only in part',
};

const program = path.join(root, 'build', 'Release', 'random-architectures');
const sweepProgram = path.join(root, 'test', 'support', 'architecture-sweep.ts');

function run(command: string, ...args: string[]) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
}

function sweep(file: string): SweepReport {
  const { status, signal, stdout, stderr } = run(process.execPath, '--import', register, sweepProgram, file);
  assert.is(status, 0, `${signal ?? `exit code ${status}`}: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout);
}

buildTarget('random-architectures', 'build');
const architectures = run(program).stdout.trim().split('\n');
const swept = process.env.CHASQUI_CI === 'full' ? architectures : FEW;
const counts = { equal: 0, refused: 0, notMade: 0 };

for (const name of swept) {
  test(name, () => {
    const file = fileOfOwn('model.gguf');
    const { status, stderr } = run(program, ...name.split(' '), file);
    assert.is(status === 0, NOT_MADE[name] === undefined, stderr.slice(-2000));
    if (status !== 0) {
      counts.notMade++;
      return;
    }
    const { kind, refusal, differences } = sweep(file);
    fs.rmSync(file);
    assert.equal(differences, []);
    assert.is(kind === 'refused', REFUSED[name] !== undefined, refusal);
    if (kind === 'refused') counts.refused++;
    else counts.equal++;
  });
}

test('no architecture is missing', () => {
  for (const name of [...FEW, ...Object.keys(NOT_MADE), ...Object.keys(REFUSED)])
    assert.ok(architectures.includes(name), name);
  assert.is(counts.equal + counts.refused + counts.notMade, swept.length);
  console.log(counts);
});

test.run();
