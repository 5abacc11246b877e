// Module hooks of register.mjs: imports of a source in ts/ get the compiled module in dist/, if there is one.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const sources = new URL('../../ts/', import.meta.url).href;
const compiled = new URL('../../dist/', import.meta.url).href;
const isPath = /^(\.{0,2}\/|file:)/;

export function resolve(specifier, context, next) {
  if (!isPath.test(specifier)) return next(specifier, context);
  const { href } = new URL(specifier, context.parentURL);
  if (href.startsWith(compiled) && /\.m?js$/.test(href)) return { url: href, format: 'module', shortCircuit: true };
  if (!href.startsWith(sources)) return next(specifier, context);
  const url = compiled + href.slice(sources.length).replace(/\.ts$/, '.js');
  if (!url.endsWith('.js') || !fs.existsSync(fileURLToPath(url))) return next(specifier, context);
  return { url, format: 'module', shortCircuit: true };
}

/** Spares compiled modules the transformation by tsx. */
export function load(url, context, next) {
  if (!url.startsWith(compiled) || context.format !== 'module') return next(url, context);
  return { format: 'module', source: fs.readFileSync(fileURLToPath(url)), shortCircuit: true };
}
