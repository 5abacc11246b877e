// Loaded before everything else into each process of a test run (test/run.mjs): writes down what servers of ours answer,
// for the tier `conformance` to check. Plain JavaScript, because it is there before TypeScript can be read.
import { openSync, writeSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';

// Most processes of a run end soon after their start: optimising functions eight times later saves a quarter of a server's start.
setFlagsFromString('--interrupt-budget=1000000');

const folder = process.env.CHASQUI_RECORD_REPLIES;
/** Tests with a gateway that forwards replies outside the API unset the variable. */
const paused = () => process.env.CHASQUI_RECORD_REPLIES === undefined;
const { write, end, writeHead } = ServerResponse.prototype;
const bodies = new WeakMap();
/**
 * Opened before the first reply is sent, and kept: some tests leave a server no more files as soon as they have
 * received one.
 */
let file;

/** Replies of other servers are not checked. */
function isOurs(headers) {
  return /^req_/.test(headers['x-request-id'] ?? '');
}

/** After the call, which may have sent the head of the reply. */
function keep(response, chunk) {
  const parts = bodies.get(response);
  if (parts && chunk && typeof chunk !== 'function') parts.push(Buffer.from(chunk));
}

function record(response, headers, complete) {
  const parts = bodies.get(response);
  if (!parts) return;
  bodies.delete(response);
  const { method, url } = response.req;
  const type = String(headers['content-type'] ?? '');
  const reply = {
    method,
    url,
    status: response.statusCode,
    type,
    complete,
    body: Buffer.concat(parts).toString('utf8'),
  };
  writeSync(file, `${JSON.stringify(reply)}\n`);
}

if (folder) {
  ServerResponse.prototype.writeHead = function (status, ...rest) {
    const result = writeHead.call(this, status, ...rest);
    const headers = { ...this.getHeaders(), ...rest.at(-1) };
    if (isOurs(headers) && !paused()) {
      file ??= openSync(path.join(folder, `${process.pid}.jsonl`), 'a');
      bodies.set(this, []);
      this.once('finish', () => record(this, headers, true));
      this.once('close', () => record(this, headers, false));
    }
    return result;
  };
  ServerResponse.prototype.write = function (chunk, ...rest) {
    const result = write.call(this, chunk, ...rest);
    keep(this, chunk);
    return result;
  };
  ServerResponse.prototype.end = function (chunk, ...rest) {
    const result = end.call(this, chunk, ...rest);
    keep(this, chunk);
    return result;
  };
}
