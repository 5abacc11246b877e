// Bundles the pages of the desktop app and the web page of servers, ts/desktop/ui, into <dist>/desktop/ui. Names of scripts
// and styles contain a content hash, so browsers can cache them for ever. Texts are also stored compressed, as the server
// sends them.
//
//   node native/tooling/bundle-ui.mjs [<dist>]
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import zlib from 'node:zlib';
import { SetupError } from '../../vendor/progress.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const source = path.join(root, 'ts', 'desktop', 'ui');

/** Bytes of the scripts of a first view after gzip: the entry, the view, their static imports, and one language. */
const scriptLimit = 100 * 1024;

/** Returns the names of the npm packages in the scripts and styles. */
export async function bundleUi(dist) {
  const out = path.join(dist, 'desktop', 'ui');
  fs.rmSync(out, { recursive: true, force: true });
  const { entries, packages, outputs } = await bundle(out);
  fs.cpSync(path.join(source, 'static'), out, { recursive: true });
  // For the tray icon.
  fs.cpSync(path.join(source, 'languages'), path.join(dist, 'desktop', 'languages'), { recursive: true });
  const { script, webPage, ...shared } = entries;
  writePage(out, 'index.html', { script, ...shared });
  writePage(out, path.join('web-page', 'web-page.html'), { script: webPage, ...shared });
  compressAll(out);
  for (const view of firstViews(outputs)) checkSize(view);
  return packages;
}

/** Returns the file names of the entry points, relative to `out`, and the names of the npm packages. */
async function bundle(out) {
  const esbuild = await import('esbuild');
  const result = await esbuild
    .build({
      entryPoints: {
        app: path.join(source, 'main.tsx'),
        'web-page': path.join(source, 'web-page', 'web-page.tsx'),
        theme: path.join(source, 'theme.ts'),
        style: path.join(source, 'styles', 'style.css'),
      },
      outdir: path.join(out, 'assets'),
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      assetNames: '[name]-[hash]',
      loader: { '.woff2': 'file' },
      bundle: true,
      splitting: true,
      format: 'esm',
      target: ['chrome123', 'firefox120', 'safari17.5'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      legalComments: 'none',
      metafile: true,
      logLevel: 'silent',
    })
    .catch((error) => {
      throw new SetupError(`The pages of the desktop app do not compile:\n${error.message}`);
    });
  const named = {};
  const inPage = (file) => path.relative(out, path.resolve(file)).split(path.sep).join('/');
  for (const [file, { entryPoint, imports }] of Object.entries(result.metafile.outputs)) {
    if (entryPoint) named[path.basename(entryPoint)] = { file: inPage(file), needs: neededBy(imports).map(inPage) };
  }
  const scripts = { script: named['main.tsx'], webPage: named['web-page.tsx'] };
  const entries = { ...scripts, style: named['style.css'], theme: named['theme.ts'] };
  return { entries, packages: packagesOf(Object.keys(result.metafile.inputs)), outputs: result.metafile.outputs };
}

export function packagesOf(inputs) {
  const names = inputs.flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return [...new Set(names)].sort();
}

/** The static imports of a script, without those of lazily loaded views. */
function neededBy(imports) {
  return imports.filter(({ kind }) => kind === 'import-statement').map((each) => each.path);
}

/** Preloads the imports of the first script, so the browser requests them in parallel. */
function writePage(out, name, { script, style, theme }) {
  const page = fs.readFileSync(path.join(source, name), 'utf8');
  const preloads = script.needs.map((file) => `<link rel="modulepreload" href="/${file}" />\n    `).join('');
  fs.writeFileSync(
    path.join(out, path.basename(name)),
    page
      .replace('<script type="module"', `${preloads}<script type="module"`)
      .replace('/main.js', `/${script.file}`)
      .replace('/theme.js', `/${theme.file}`)
      .replace('/style.css', `/${style.file}`),
  );
}

function compressAll(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !/\.(html|js|css|svg|json|webmanifest)$/.test(entry.name)) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    const content = fs.readFileSync(file);
    fs.writeFileSync(`${file}.gz`, zlib.gzipSync(content, { level: 9 }));
    fs.writeFileSync(`${file}.br`, zlib.brotliCompressSync(content));
  }
}

/** The scripts that each view needs when it is opened first. */
function firstViews(outputs) {
  const scripts = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint);
  const entry = scripts.find(([, { entryPoint }]) => entryPoint.endsWith('/main.tsx'))[0];
  const views = scripts.filter(([, { entryPoint }]) => entryPoint.endsWith('-view.tsx')).map(([file]) => file);
  const languages = scripts.filter(([, { entryPoint }]) => path.basename(path.dirname(entryPoint)) === 'languages');
  const language = languages.map(([file]) => file).sort((a, b) => gzipped(b) - gzipped(a))[0];
  return views.map((view) => ({ view, files: withImports([entry, view, language], outputs) }));
}

function withImports(files, outputs, found = new Set()) {
  for (const file of files) {
    if (!found.has(file)) withImports(neededBy(outputs[file].imports), outputs, found.add(file));
  }
  return found;
}

function gzipped(file) {
  return fs.statSync(`${file}.gz`).size;
}

function checkSize({ view, files }) {
  const total = [...files].reduce((sum, file) => sum + gzipped(file), 0);
  if (total <= scriptLimit) return;
  throw new SetupError(
    `${path.basename(view)} needs ${total} bytes of scripts, compressed; ${scriptLimit} is the limit`,
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await bundleUi(path.resolve(process.argv[2] ?? path.join(root, 'dist')));
}
