// Checks all replies of the test run against the OpenAPI documents of their modes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LIVENESS_URL } from '../../ts/api/server/health/handler.js';
import { DEPLOYMENT, MODES } from '../support/modes.js';
import { documentOf, documentOfDesktopApp, documentOfDesktopServer, documentOfMcp } from './documents.js';
import { type RecordedReply, ReplyCheck } from './reply-check.js';

const test = suite('conformance: replies');

function* recordedReplies(folder: string): Generator<RecordedReply> {
  for (const file of readdirSync(folder)) {
    const lines = readFileSync(path.join(folder, file), 'utf8').split('\n');
    for (const line of lines) if (line !== '') yield JSON.parse(line);
  }
}

const orNull = (type: string) => ({ type: [type, 'null'] });
/** `/status` and `/wake` of an app: the gateway's own, so that no mode's document has them. */
const fitsAppStatus = new Ajv2020().compile({
  type: 'object',
  properties: {
    org: { type: 'string' },
    app: { type: 'string' },
    revision: orNull('integer'),
    state: { enum: ['asleep', 'starting', 'ready', 'failed'] },
    runners: { type: 'integer' },
    running: { type: 'integer' },
    queued: { type: 'integer' },
    progress: orNull('string'),
    failure: {
      type: ['object', 'null'],
      properties: { code: { type: 'string' }, message: { type: 'string' } },
      required: ['code', 'message'],
      additionalProperties: false,
    },
  },
  required: ['org', 'app', 'revision', 'state', 'runners', 'running', 'queued', 'progress', 'failure'],
  additionalProperties: false,
});

function isAppStatus({ url, status, complete, body }: RecordedReply): boolean {
  const isGateways = /^\/[^/]+\/[^/]+\/(status|wake)$/.test(url) && [200, 202].includes(status);
  return isGateways && (!complete || body === '' || fitsAppStatus(JSON.parse(body)));
}

/** Pages and assets on the desktop app's own port, including those for unknown paths and for browsers without a key. */
function isPageOfTheApp({ method, url, status, body }: RecordedReply): boolean {
  if ([401, 404].includes(status) && body.startsWith('<!doctype html>')) return true;
  return (
    method === 'GET' && /^\/(\?(?:token|code)=.*|assets\/.*|icon\.svg)?$/.test(url) && [200, 303, 304].includes(status)
  );
}

/**
 * The document names one deployment; tests use others as well. The app's port has the endpoints below `/app`. A request may
 * name its host with the path, as proxies are asked.
 */
function normalised(recorded: RecordedReply): RecordedReply {
  const reply = { ...recorded, url: recorded.url.replace(/^https?:\/\/[^/]*/, '') };
  if (/^\/app\/((v1|models)\/|props\b)/.test(reply.url)) return { ...reply, url: reply.url.slice('/app'.length) };
  if (/^\/(v1|api)\//.test(reply.url)) return reply;
  const [, below] =
    /^\/[^/]+\/[^/]+(\/(?:v1|models|health|live|ready|metrics|tokenize|detokenize|apply-template|openapi|docs).*)$/.exec(
      reply.url,
    ) ?? [];
  return below ? { ...reply, url: `/${DEPLOYMENT.org}/${DEPLOYMENT.app}${below}` } : reply;
}

test('every reply and every event of a stream is as documented', async () => {
  const folder = process.env.CHASQUI_RECORD_REPLIES;
  assert.ok(folder, 'to be run by test/run.mjs, which has replies written down');
  const documents = [
    ...(await Promise.all(MODES.map(documentOf))),
    await documentOfDesktopServer(),
    await documentOfMcp(),
    await documentOfDesktopApp(),
  ];
  const checks = documents.map((document) => new ReplyCheck(document));
  const problems: string[] = [];
  let replies = 0;
  for (const recorded of recordedReplies(folder)) {
    const reply = normalised(recorded);
    replies += 1;
    if (reply.url === LIVENESS_URL && reply.body === '{"status":"ok"}') continue;
    if (isAppStatus(reply) || isPageOfTheApp(reply)) continue;
    const found: string[] = [];
    const fits = checks.some((check) => {
      const problem = check.problemWith(reply);
      if (problem !== null) found.push(problem);
      return problem === null;
    });
    if (fits) continue;
    problems.push(`${reply.method} ${reply.url} ${reply.status}: ${[...new Set(found)].join('; or ')}: ${reply.body}`);
  }
  const events = checks.reduce((sum, check) => sum + check.events, 0);
  console.log(`${replies} replies, ${events} events of streams`);
  assert.ok(replies > 0);
  assert.equal(
    problems.slice(0, 20).map((problem) => problem.slice(0, 1000)),
    [],
  );
});

test.run();
