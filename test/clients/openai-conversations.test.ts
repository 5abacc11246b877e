// The official client, and conversations and streams in the background of a real server with the demo model.
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HostedMode, MODEL, MODES, type Mode } from '../support/modes.js';
import { openAiClient } from '../support/openai-client.js';

interface Context {
  hosted: HostedMode;
  client: OpenAI;
}

const counting = { model: MODEL, temperature: 0, input: 'Count from 3 to 9' };
const NUMBERS = '3, 4, 5, 6, 7, 8, 9';

function testIn(mode: Mode): void {
  const test = suite<Context>(`clients: openai, conversations, ${mode} mode`);

  test.before(async (context) => {
    context.hosted = await HostedMode.start(mode, 1024);
    context.client = openAiClient(context.hosted);
  });
  test.after(({ hosted }) => hosted.stop());

  test('makes a conversation, goes on from it, and reads what was added', async ({ client }) => {
    const items = [{ role: 'user' as const, content: 'Count from 1 to 2' }];
    const made = await client.conversations.create({ items, metadata: { topic: 'numbers' } });
    assert.equal([made.object, made.metadata], ['conversation', { topic: 'numbers' }]);
    const first = await client.responses.create({ ...counting, conversation: made.id });
    assert.equal([first.conversation, first.status], [{ id: made.id }, 'completed']);
    const second = await client.responses.create({ ...counting, conversation: { id: made.id } });
    assert.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0) + 20);
    const listed = [];
    for await (const item of client.conversations.items.list(made.id, { limit: 2, order: 'asc' })) listed.push(item);
    assert.equal(
      listed.map((item) => (item.type === 'message' ? `${item.role} ${item.status}` : item.type)),
      ['user', 'user', 'assistant', 'user', 'assistant'].map((role) => `${role} completed`),
    );
    assert.is(listed[2]?.id, first.output[0]?.id);
  });

  test('changes, reads and deletes one, and its items', async ({ client }) => {
    const { id } = await client.conversations.create();
    const added = await client.conversations.items.create(id, {
      items: [
        { role: 'user', content: [{ type: 'input_text', text: 'One' }] },
        { role: 'user', content: 'Two' },
      ],
    });
    assert.is(added.data.length, 2);
    const item = await client.conversations.items.retrieve(added.first_id, { conversation_id: id });
    assert.ok(item.type === 'message' && item.content[0]?.type === 'input_text' && item.content[0].text === 'One');
    assert.is((await client.conversations.items.delete(added.first_id, { conversation_id: id })).id, id);
    const left = await client.conversations.items.list(id);
    assert.equal(
      left.data.map((each) => each.id),
      [added.last_id],
    );
    assert.equal((await client.conversations.update(id, { metadata: { a: 'b' } })).metadata, { a: 'b' });
    assert.equal((await client.conversations.retrieve(id)).metadata, { a: 'b' });
    const deleted = await client.conversations.delete(id);
    assert.equal(deleted, { id, object: 'conversation.deleted', deleted: true });
    const gone = await client.conversations.retrieve(id).catch((thrown: unknown) => thrown);
    assert.instance(gone, OpenAI.NotFoundError);
    const refused = await client.responses.create({ ...counting, conversation: id }).catch((thrown: unknown) => thrown);
    assert.instance(refused, OpenAI.NotFoundError);
  });

  test('goes on with a stream in the background after losing it', async ({ client }) => {
    const read: ResponseStreamEvent[] = [];
    let id = '';
    for await (const event of await client.responses.create({ ...counting, background: true, stream: true })) {
      if (event.type === 'response.created') id = event.response.id;
      read.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const after = read.at(-1)?.sequence_number as number;
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after })) {
      read.push(event);
    }
    assert.equal(
      read.map((event) => event.sequence_number),
      read.map((_, index) => index),
    );
    const text = read.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    const last = read.at(-1);
    assert.is(text, NUMBERS);
    assert.ok(last?.type === 'response.completed' && last.response.output_text === undefined);
    assert.is((await client.responses.retrieve(id)).output_text, NUMBERS);
  });

  test('the stream helper takes up a stream in the background', async ({ client }) => {
    const begun = client.responses.stream({ ...counting, background: true });
    const { id } = await begun.finalResponse();
    const again = client.responses.stream({ response_id: id, starting_after: 3 });
    assert.is((await again.finalResponse()).output_text, NUMBERS);
  });

  test.run();
}

for (const mode of MODES) testIn(mode);
