#!/usr/bin/env node
// What prebuildify calls in place of node-gyp, which cannot drive CMake: build.mjs does, through cmake-js. Prebuildify
// then looks in build/Release of the folder that it runs in, so the binaries are copied there. The options of the build
// come from prebuild.mjs.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { runScript } from '../../vendor/progress.mjs';
import { buildNative } from './build.mjs';

const built = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..', 'build', 'Release');
const wanted = path.resolve('build', 'Release');

await runScript(async () => {
  await buildNative(JSON.parse(process.env.CHASQUI_PREBUILD_OPTIONS ?? '["--all-variants"]'));
  fs.mkdirSync(wanted, { recursive: true });
  for (const name of fs.readdirSync(built).filter((each) => /\.(node|so|dylib|dll)$/.test(each))) {
    fs.copyFileSync(path.join(built, name), path.join(wanted, name));
  }
});
