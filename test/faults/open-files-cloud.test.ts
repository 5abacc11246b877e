// A cloud that may open no more files: requests to its apps are refused with the reason, and no runner is blamed for it.
import { createHash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ORG, TestCloud } from '../support/cloud.js';
import { type Answer, OneConnection } from '../support/one-connection.js';
import { leaveAllFiles, leaveFiles } from '../support/open-files.js';
import { until } from '../support/until.js';

const test = suite('faults: a cloud with no files left');
let cloud: TestCloud;
let connection: OneConnection;

test.before(async () => {
  cloud = await TestCloud.start();
  await cloud.deployed('chat', { scale: { min: 1 } });
  connection = new OneConnection(cloud.url);
});
test.after(async () => void (await cloud.stop()));

const chat = () =>
  connection.ask('POST', `/${ORG}/chat/v1/chat/completions`, {
    model: 'chasqui-demo',
    messages: [{ role: 'user', content: 'Hello!' }],
    max_tokens: 2,
  });

async function upload() {
  const { key } = await cloud.client.post<{ key: string }>('/keys', { org: ORG, scopes: ['deploy', 'read'] });
  const bytes = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(1000)]);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return () => connection.ask('PUT', `/api/cloud/v1/models/${sha256}`, bytes, { authorization: `Key ${key}` });
}

test('requests and uploads are refused, and the runner lives on', async () => {
  const send = await upload();
  assert.is((await chat()).status, 200);
  const { pid } = cloud.child.process;
  const runners = (await cloud.status('chat')).runners.map(({ id }) => id);
  // An earlier connection that ends frees a descriptor, so occupy it again.
  const isRefused = async (ask: () => Promise<Answer>): Promise<void> => {
    const answers: Answer[] = [];
    await until(async () => {
      leaveFiles(pid as number, 0);
      answers.push(await ask());
      return answers.at(-1)?.status !== 200;
    }, 'no files are left');
    const { status, body } = answers.at(-1) as Answer;
    assert.equal([status, body.error.code], [503, 'too_many_open_files'], JSON.stringify(body));
  };
  try {
    // More often than a runner that is silent is forgiven.
    for (let asked = 0; asked < 6; asked += 1) await isRefused(chat);
    await isRefused(send);
  } finally {
    leaveAllFiles(pid as number);
  }
  await until(async () => (await chat()).status === 200, 'an answer');
  assert.is((await send()).status, 200);
  assert.equal(
    (await cloud.status('chat')).runners.map(({ id }) => id),
    runners,
  );
});

test.run();
