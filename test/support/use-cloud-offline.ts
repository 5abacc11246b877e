/**
 * A program: a cloud is started, apps are deployed to it by the command line and called. Prints as JSON what came of it,
 * and whether there was a network beside this machine's own loopback.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { ORG, TestCloud, writeScript } from './cloud.js';
import { demoModelPath } from './demo-model.js';

const hasNetwork = Object.values(os.networkInterfaces()).some((all) => all?.some(({ internal }) => !internal));
const cloud = await TestCloud.start();
const script = writeScript(`
export const demo = app({ model: 'demo', context: 512, scale: { keepAlive: '100ms' } });
export const file = app({ model: 'file:./own.gguf', context: 512, alias: 'own', auth: 'public' });`);
fs.copyFileSync(demoModelPath, path.join(path.dirname(script), 'own.gguf'));
const deployed = [];
for (const name of ['demo', 'file']) {
  const { code, stdout, stderr } = await cloud.cli('deploy', `${script}::${name}`, '--json');
  if (code !== 0) throw new Error(stderr);
  deployed.push(JSON.parse(stdout).state);
}
// One that sleeps has to be started again.
await cloud.untilApp('demo', ({ state }) => state === 'asleep');
const headers = { authorization: `Key ${cloud.key}` };
const statuses = [
  (await cloud.post('demo', { max_tokens: 4 }, headers)).status,
  (await cloud.post('file', { max_tokens: 4, model: 'own' })).status,
];
const page = (await fetch(`${cloud.url}/dashboard`)).status;
const exit = await cloud.stop();
console.log(JSON.stringify({ org: ORG, hasNetwork, deployed, statuses, page, code: exit.code }));
process.exit();
