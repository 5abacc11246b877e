// Hostile texts to servers with tiny models of random weights: each tokenizer handles long runs in its own way.
// CHASQUI_CI=full adds the other vocabularies that come with llama.cpp.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import { vocabularies, writeDecoder } from '../support/random-model.js';
import type { Entry } from './entry.js';
import { GRAMMARS, SCHEMAS } from './grammar-entries.js';
import { TOKENIZED_RUNS } from './prepare-entries.js';
import { ServerUnderAttack } from './server-under-attack.js';

/** One for each tokenizer algorithm. */
const EVERY_COMMIT = ['bert-bge', 'gemma-4', 'llama-bpe', 'llama-spm', 'nomic-bert-moe'];
const VOCABULARIES = process.env.CHASQUI_CI === 'full' ? vocabularies() : EVERY_COMMIT;

/** Large vocabularies make these dear. */
const NAMED = ['an ambiguous grammar', 'twenty thousand values'];
const ENTRIES: readonly Entry[] = [
  ...TOKENIZED_RUNS,
  ...[...GRAMMARS, ...SCHEMAS].filter(({ name }) => NAMED.includes(name)),
];

interface Context {
  folder: string;
  server: ServerUnderAttack | null;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hostile-'));
process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));

for (const name of VOCABULARIES) {
  const test = suite<Context>(`hostile: the vocabulary of ${name}`);
  test.before((context) => {
    context.server = null;
  });
  test.after(async ({ server }) => {
    await server?.kill();
    fs.rmSync(path.join(folder, `${name}.gguf`), { force: true });
  });
  for (const entry of ENTRIES) {
    test(entry.name, async (context) => {
      context.server ??= await startWith(name);
      try {
        await context.server.suffer(entry);
      } catch (error) {
        await context.server.kill();
        context.server = null;
        throw error;
      }
    });
  }
  test.run();
}

function startWith(name: string): Promise<ServerUnderAttack> {
  const file = path.join(folder, `${name}.gguf`);
  if (!fs.existsSync(file)) writeDecoder(file, name, 2048);
  return ServerUnderAttack.start(['--model', file, '--ctx-size', '2048']);
}
