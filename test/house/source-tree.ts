// The files that git tracks or would add.
import fs from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');

const notOurs = ['.git', 'build', 'dist', 'node_modules', 'vendor/llama.cpp', 'vendor/.cache'];

/** Files under a folder, relative to the root, with slashes. */
export function files(folder: string, pattern: RegExp): string[] {
  const found: string[] = [];
  const visit = (relative: string) => {
    if (notOurs.includes(relative)) return;
    for (const entry of fs.readdirSync(path.join(root, relative), { withFileTypes: true })) {
      const name = path.posix.join(relative, entry.name);
      if (entry.isDirectory()) visit(name);
      else if (pattern.test(name)) found.push(name);
    }
  };
  if (fs.existsSync(path.join(root, folder))) visit(folder);
  return found.sort();
}

export function read(file: string): string {
  return fs.readFileSync(path.join(root, file), 'utf8');
}

export function exists(file: string): boolean {
  return fs.existsSync(path.join(root, file));
}

/** Every line that breaks a rule, as `file:line: text`. */
export function offences(names: string[], breaks: (line: string, file: string, index: number) => boolean): string[] {
  return names.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (breaks(line, file, index) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
}
