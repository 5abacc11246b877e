/** Evaluates a deployment script. The parent limits the time and memory of this process. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createJiti } from 'jiti';
import { APP } from './app.js';
import { NotData, toPlainData } from './canonical-json.js';
import type { Evaluated } from './evaluate.js';

const [file = ''] = process.argv.slice(2);

/** Scripts in any folder import this module as `chasqui/cloud`. */
const ours = fileURLToPath(new URL(`../index${path.extname(import.meta.url)}`, import.meta.url));

void evaluate(file).then((result) => process.send?.(result));

async function evaluate(script: string): Promise<Evaluated> {
  process.send?.({ kind: 'started' });
  try {
    const jiti = createJiti(import.meta.url, { fsCache: false, moduleCache: false, alias: { 'chasqui/cloud': ours } });
    const module = (await jiti.import(script)) as Record<string, unknown>;
    return { kind: 'apps', apps: Object.entries(module).flatMap(([name, value]) => appOf(name, value)) };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error, script), ofScript: !(error instanceof NotData) };
  }
}

function appOf(name: string, value: unknown): { name: string; options: ReturnType<typeof toPlainData> }[] {
  if (typeof value !== 'object' || value === null || !(APP in value)) return [];
  return [{ name, options: toPlainData((value as { [APP]: unknown })[APP], name) }];
}

/** The first line of the message and the line number in the script. */
function reasonOf(error: unknown, script: string): string {
  if (!(error instanceof Error)) return String(error).slice(0, 500);
  const [, line] =
    error.stack
      ?.slice(0, 10_000)
      .split(script)[1]
      ?.match(/^:(\d+)/) ?? [];
  const where = line === undefined || error instanceof NotData ? '' : ` (line ${line})`;
  return `${error.message.split('\n')[0]?.slice(0, 500)}${where}`;
}
