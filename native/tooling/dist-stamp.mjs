// Checks whether dist/ is up to date. Uses no packages.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const stampFile = path.join(root, 'dist', '.stamp');
/** Bundled into the pages of the desktop app. */
const uiPackages = ['preact', '@preact/signals', 'marked', 'dompurify', 'uplot', 'highlight.js', 'temml'];

export function isDistCurrent() {
  return fs.existsSync(stampFile) && fs.readFileSync(stampFile, 'utf8') === sourceStamp();
}

export function writeDistStamp() {
  fs.writeFileSync(stampFile, sourceStamp());
}

function sourceStamp() {
  const hash = createHash('sha256');
  const names = fs.readdirSync(path.join(root, 'ts'), { recursive: true }).sort();
  for (const name of names.filter((entry) => /\.(tsx?|js|mjs|json|css|html|svg|webmanifest)$/.test(entry))) {
    hash.update(`${name}\0`).update(fs.readFileSync(path.join(root, 'ts', name)));
  }
  hash.update(fs.readFileSync(path.join(root, 'native', 'tooling', 'bundle-ui.mjs')));
  const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  for (const name of ['typescript', 'esbuild', ...uiPackages])
    hash.update(JSON.stringify(packages[`node_modules/${name}`] ?? null));
  return hash.digest('hex');
}
