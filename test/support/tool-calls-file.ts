import path from 'node:path';
import { root } from './places.js';

/** Where test/llama/tool-calls.cpp writes the calls that it reads. */
export const toolCallsFile = path.join(root, 'build', 'tool-calls.ndjson');
