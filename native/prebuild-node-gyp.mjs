#!/usr/bin/env node
// What prebuildify calls in place of node-gyp, which cannot drive CMake: build.mjs does, through cmake-js, and leaves
// everything in build/Release, where prebuildify looks for it. The options of the build come from prebuild.mjs.
import process from 'node:process';
import { runScript } from '../vendor/progress.mjs';
import { buildNative } from './build.mjs';

await runScript(() => buildNative(JSON.parse(process.env.CHASQUI_PREBUILD_OPTIONS ?? '["--all-variants"]')));
