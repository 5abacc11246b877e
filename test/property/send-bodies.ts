/** Sends random bodies, valid and spoilt ones, to the endpoints of all modes, and says what of the answers is wrong. */
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../ts/api/app.js';
import type { OpenApiDocument } from '../../ts/http/openapi/document.js';
import type { JsonSchema } from '../../ts/http/schema/json-schema.js';
import { loadModel } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { ReplyCheck } from '../conformance/reply-check.js';
import { namingOf } from '../support/build-app.js';
import { demoModelPath } from '../support/demo-model.js';
import { DEPLOYMENT, MODES, type Mode, PROFILES } from '../support/modes.js';
import { seededRandom } from '../support/seeded-random.js';
import { mutate, mutateText } from './mutate.js';
import { problemWith } from './problem-with.js';
import { pick, type Random, randomValue } from './random-values.js';

export interface BodiesReport {
  /** What is wrong, with the body that brought it about; empty when all is well. */
  problems: string[];
  /** How often each status was answered. */
  statuses: Record<number, number>;
  /** Running and queued jobs after all replies. */
  atRest: { active: number; queued: number };
  jobs: number;
}

interface Target {
  app: FastifyInstance;
  base: string;
  /** Paths below the base, and the schemas of their bodies. */
  endpoints: [path: string, body: JsonSchema][];
  check: ReplyCheck;
}

const AT_ONCE = 8;

export async function sendBodies(count: number, seed: number): Promise<BodiesReport> {
  const engine = await loadModel(demoModelPath, { contextSize: 192, parallel: 4, threads: 1 });
  const report: BodiesReport = { problems: [], statuses: {}, atRest: { active: 0, queued: 0 }, jobs: 0 };
  const onServerError = (error: unknown) =>
    report.problems.push(`an error of the server: ${(error as Error)?.stack ?? error}`);
  const targets: Target[] = [];
  for (const mode of MODES) {
    const deployed = mode === 'serverless' ? { deployment: DEPLOYMENT, access: 'public' as const } : {};
    targets.push(
      await toTarget(
        buildApp(ManagedPool.of(engine, namingOf(PROFILES[mode])), PROFILES[mode], { onServerError, ...deployed }),
        mode,
      ),
    );
  }
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      // A seed per body, so one body can be reproduced without the earlier ones.
      const random = seededRandom(seed * 1_000_003 + next++);
      await sendOne(random, pick(random, targets), engine.model.id, report);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const { active, queued, jobsFinished, jobsCancelled } = await engine.stats();
  report.atRest = { active, queued };
  report.jobs = jobsFinished + jobsCancelled;
  for (const { app } of targets) await app.close();
  await engine.close();
  return report;
}

async function toTarget(app: FastifyInstance, mode: Mode): Promise<Target> {
  const base = mode === 'serverless' ? `/${DEPLOYMENT.org}/${DEPLOYMENT.app}` : '';
  const document = (await app.inject(`${base}/openapi.json`)).json() as OpenApiDocument;
  const endpoints = Object.entries(document.paths).flatMap(([path, { post }]) => {
    const [, name] = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(post?.requestBody ?? null)) ?? [];
    // Forms have no named schema.
    return name === undefined ? [] : [[path, document.components.schemas[name] as JsonSchema] as [string, JsonSchema]];
  });
  return { app, base, endpoints, check: new ReplyCheck(document) };
}

async function sendOne(random: Random, target: Target, model: string, report: BodiesReport): Promise<void> {
  const [path, schema] = pick(random, target.endpoints);
  const payload = randomBody(random, schema, model);
  const reply = await target.app.inject({
    method: 'POST',
    url: target.base + path,
    headers: { 'content-type': 'application/json' },
    payload,
  });
  const { statusCode: status, headers, body } = reply;
  report.statuses[status] = (report.statuses[status] ?? 0) + 1;
  const type = String(headers['content-type']);
  const recorded = { method: 'POST', url: target.base + path, status, type, complete: true, body };
  const problem = problemWith(status, type, body) ?? target.check.problemWith(recorded);
  if (problem)
    report.problems.push(`${path} ${status}: ${problem}\n  to ${payload.slice(0, 2000)}\n  ${body.slice(0, 500)}`);
}

function randomBody(random: Random, schema: JsonSchema, model: string): string {
  const body = randomValue(random, schema) as Record<string, unknown>;
  if (random() < 0.95) body.model = model;
  // Most answers should be short.
  if (random() < 0.9 && 'max_tokens' in Object(schema.properties)) body.max_tokens = 1 + Math.floor(random() * 4);
  if (random() < 0.5) mutate(random, body);
  const text = JSON.stringify(body);
  return random() < 0.05 ? mutateText(random, text) : text;
}
