// The import graph, parsed from the sources. Type imports count.
import path from 'node:path';
import { exists, read } from './source-tree.ts';

export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Import specifiers of a file, as written: `./a.js`, `node:fs`. */
export function specifiersOf(file: string): string[] {
  return [...read(file).matchAll(/(?:^|[\s})*])(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/gm)].map(
    ([, specifier]) => specifier as string,
  );
}

/** The file of ours that a specifier means, or undefined for a package. */
export function resolveImport(specifier: string, from: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const target = path.posix.join(path.posix.dirname(from), specifier);
  return [target, target.replace(/\.js$/, '.ts')].find(
    (candidate) => /\.(ts|mjs|json)$/.test(candidate) && exists(candidate),
  );
}

/** The files that are loaded with this one, and the packages, unless a call imports them later. */
export function loadedWith(file: string, found: Set<string> = new Set()): Set<string> {
  found.add(file);
  for (const [, specifier = ''] of read(file).matchAll(/^(?:import|export)(?! type\b)[^'";]*?from '([^']+)'/gm)) {
    const target = resolveImport(specifier, file) ?? specifier;
    if (!/\.ts$/.test(target)) found.add(target);
    else if (!found.has(target)) loadedWith(target, found);
  }
  return found;
}

export function importGraph(files: readonly string[]): ImportGraph {
  return new Map(
    files.map((file) => [file, specifiersOf(file).flatMap((specifier) => resolveImport(specifier, file) ?? [])]),
  );
}

/** One way around each circle that a search finds, as `a -> b -> a`; none when there is no circle. */
export function circles(graph: ImportGraph): string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): void => {
    if (finished.has(file)) return;
    const start = way.indexOf(file);
    if (start >= 0) {
      found.push([...way.slice(start), file].join(' -> '));
      return;
    }
    way.push(file);
    for (const imported of graph.get(file) ?? []) visit(imported);
    way.pop();
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}
