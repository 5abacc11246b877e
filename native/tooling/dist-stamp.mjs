// Checks whether dist/ is up to date. Uses no packages.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const stampFile = path.join(root, 'dist', '.stamp');

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
  // The compiler, the bundler, and the packages in both bundles.
  const tooling = ['bundle-ui', 'bundle-programs', 'describe-options'].map((name) => `native/tooling/${name}.mjs`);
  for (const name of [...tooling, 'package-lock.json']) hash.update(fs.readFileSync(path.join(root, name)));
  return hash.digest('hex');
}
