// Bundles the programs in a freshly compiled dist/ with their modules and npm packages into <dist>/bundle: loading 760 files
// takes a third of the CPU time of a server's start. The programs become modules of one line that import their bundle. All
// other modules stay as they are, for the library and for the tests.
import fs from 'node:fs';
import path from 'node:path';
import { packagesOf } from './bundle-ui.mjs';

const programs = ['cli', 'cli/cloud/runner-main'];
/** Child processes, each bundled into one file. They share no chunks with the programs: those would become smaller and more. */
const children = ['engine/child/main', 'engine/child/preparation-main', 'native/probe-child'];
/**
 * Packages that a server imports at its start. Others are loaded on demand, read files of their own, or are optional. The
 * dynamic import of undici would become a file of its own, which a server without free file descriptors could not open.
 */
const bundled = /^(@fastify\/.*|ajv|commander|fastest-levenshtein|fastify|ipaddr\.js)$/;

/** Returns the names of the npm packages in the bundle. */
export async function bundlePrograms(dist) {
  const inputs = [...(await bundle(dist, programs, true)), ...(await bundle(dist, children, false))];
  for (const name of [...programs, ...children]) {
    const up = '../'.repeat(name.split('/').length - 1);
    const program = `#!/usr/bin/env node\nimport './${up}bundle/${path.basename(name)}.js';\n`;
    fs.writeFileSync(path.join(dist, `${name}.js`), program);
  }
  return packagesOf(inputs);
}

/** Returns the bundled files. */
async function bundle(dist, names, splitting) {
  const esbuild = await import('esbuild');
  const { metafile } = await esbuild.build({
    entryPoints: Object.fromEntries(names.map((name) => [path.basename(name), path.join(dist, `${name}.js`)])),
    outdir: path.join(dist, 'bundle'),
    bundle: true,
    splitting,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // CommonJS packages require modules of Node.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [{ name: 'modules of chasqui', setup: (build) => readOurs(build, dist) }],
  });
  return Object.keys(metafile.inputs);
}

/** Keeps the addresses of modules, which are relative to `import.meta.url`, and leaves other packages outside the bundle. */
function readOurs(build, dist) {
  const isOurs = (file) => file.startsWith(dist + path.sep);
  build.onLoad({ filter: /\.m?js$/ }, ({ path: file }) => {
    if (!isOurs(file)) return;
    const address = JSON.stringify(`../${path.relative(dist, file).split(path.sep).join('/')}`);
    const source = fs.readFileSync(file, 'utf8');
    return { contents: source.replaceAll('import.meta.url', `new URL(${address}, import.meta.url).href`) };
  });
  build.onResolve({ filter: /^[^./]/ }, ({ path: name, importer }) => {
    return isOurs(importer) && !bundled.test(name) ? { external: true } : undefined;
  });
}
