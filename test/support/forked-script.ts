import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Writes a JavaScript module for `forkScript`, which adds the extension that its own file has: `.ts` or `.js`. */
export function writeForkedScript(folder: string, name: string, body: string): URL {
  writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  for (const extension of ['ts', 'js']) writeFileSync(path.join(folder, `${name}.${extension}`), body);
  return pathToFileURL(path.join(folder, name));
}
