#!/usr/bin/env node
// Prebuildify calls this instead of node-gyp, which does not support CMake: build.mjs runs cmake-js. The binaries are
// copied to build/Release of the current folder, where prebuildify expects them. prebuild.mjs sets the build options.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { runScript } from '../../vendor/progress.mjs';
import { buildDir, buildNative } from './build.mjs';

const built = path.join(buildDir, 'Release');
const wanted = path.resolve('build', 'Release');

await runScript(async () => {
  await buildNative(JSON.parse(process.env.CHASQUI_PREBUILD_OPTIONS ?? '["--all-variants"]'));
  fs.mkdirSync(wanted, { recursive: true });
  for (const name of fs.readdirSync(built).filter((each) => /\.(node|so|dylib|dll)$/.test(each))) {
    fs.copyFileSync(path.join(built, name), path.join(wanted, name));
  }
});
