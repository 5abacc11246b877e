// Tools in the requests of chats, and calls in the parts of a stream.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage } from '../../../ts/desktop/api-types.js';
import { callsOf, joinCalls, MAX_CALLS, toolFields } from '../../../ts/desktop/chat-tools.js';

const settings = { tools: { javascript: 'ask' } };
const user: ChatMessage = { id: 'q', parent: null, role: 'user', content: 'Go' };
const call = { id: 'c', name: 'javascript', arguments: '{"code":"1"}' };
const called: ChatMessage = { id: 'a', parent: 'q', role: 'assistant', content: '', toolCalls: [call] };

test('only known tools that the chat offers are in the request', () => {
  assert.equal(toolFields({ settings: {} }, [user]), {});
  assert.equal(toolFields({ settings: { tools: { other: 'ask' } } }, [user]), {});
  const { tools, ...others } = toolFields({ settings }, [user]) as { tools: { function: { name: string } }[] };
  assert.equal(
    tools.map(({ function: { name } }) => name),
    ['javascript'],
  );
  assert.equal(others, {});
});

test('tools of MCP servers are offered beside them', () => {
  const { tools } = toolFields({ settings }, [user], [{ name: 'files__read' }]) as { tools: { function: object }[] };
  assert.equal(tools[1], { type: 'function', function: { name: 'files__read' } });
});

test('the model calls tools at most ten times per message of the user', () => {
  const rounds = (count: number) => [user, ...Array<ChatMessage>(count).fill(called)];
  assert.not.ok('tool_choice' in toolFields({ settings }, rounds(9)));
  assert.is((toolFields({ settings }, rounds(10)) as { tool_choice?: string }).tool_choice, 'none');
  assert.not.ok('tool_choice' in toolFields({ settings }, [...rounds(10), user]));
});

test('each call has a result, also if it was not run', () => {
  const { results } = callsOf({ ...called, toolCalls: [call, { ...call, id: 'd', result: '1', state: 'done' }] });
  assert.equal(results, [
    { role: 'tool', tool_call_id: 'c', content: 'The tool was not run.' },
    { role: 'tool', tool_call_id: 'd', content: '1' },
  ]);
});

test('the parts of calls are joined, up to a number of calls', () => {
  const first = joinCalls([], [{ index: 0, id: 'c', function: { name: 'javascript', arguments: '{"code"' } }]);
  assert.equal(joinCalls(first, [{ index: 0, function: { arguments: ':"1"}' } }]), [call]);
  assert.equal(joinCalls(first, [{ index: MAX_CALLS, id: 'x' }]), first);
});

test.run();
