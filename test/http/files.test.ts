// Files in conversations: text and PDF files are shown to the model, others are named.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { docxOf, zipOf } from '../support/docx-file.js';
import { expectError } from '../support/expect-error.js';
import { endless, imageServer, redirect } from '../support/image-server.js';
import { pdfBomb, pdfOf } from '../support/pdf-file.js';

const test = suite('http: files in conversations');

const base64 = (content: string | Buffer) => Buffer.from(content).toString('base64');
const uri = (content: string | Buffer, type = 'application/pdf') => `data:${type};base64,${base64(content)}`;
const PDF = pdfOf(['Hello', 'World']);

interface Sent {
  file_data?: string;
  file_url?: string;
  file_id?: string;
  filename?: string;
}

function server(options: Parameters<typeof testApp>[1] = {}) {
  const { app, engine } = testApp({ model: { contextLength: 2 ** 25 } }, options);
  const send = (url: string, body: object) =>
    app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify({ model: 'fake', ...body }),
    });
  const chat = ({ file_url: _url, ...file }: Sent) =>
    send('/v1/chat/completions', { messages: [{ role: 'user', content: [{ type: 'file', file }] }] });
  const respond = (file: Sent) =>
    send('/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_file', ...file }] }] });
  const message = (source: object, rest: object = {}) => {
    const content = [{ type: 'document', source, ...rest }];
    return send('/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content }] });
  };
  return { app, send, chat, respond, message, prompt: () => engine.jobs.at(-1)?.prompt };
}

const ignoredBy = ({ headers }: { headers: object }) =>
  decodeURIComponent(String((headers as Record<string, unknown>)['x-chasqui-ignored'] ?? ''));

test('text and PDF files are shown to the model', async () => {
  const { chat, respond, message, prompt } = server();
  const cases: [string, string][] = [
    [uri(PDF), 'Hello\n\nWorld'],
    [base64(PDF), 'Hello\n\nWorld'],
    [uri(PDF, 'text/plain'), 'Hello\n\nWorld'],
    [uri('Año', 'text/plain'), 'Año'],
    [uri('{"a":1}', 'application/json'), '{"a":1}'],
    [base64('plain'), 'plain'],
    [base64(Buffer.from('\ufeffAño', 'utf16le')), 'Año'],
  ];
  for (const [file_data, text] of cases) {
    for (const ask of [chat, respond]) {
      const reply = await ask({ file_data, filename: 'a b.pdf' });
      assert.equal([reply.statusCode, ignoredBy(reply)], [200, ''], reply.body);
      assert.is(prompt(), `<user><document title="a b.pdf">\n${text}\n</document>`);
    }
  }
  const source = { type: 'base64', media_type: 'application/pdf', data: base64(PDF) };
  const reply = await message(source, { title: 'T', context: 'C' });
  assert.equal([reply.statusCode, ignoredBy(reply)], [200, ''], reply.body);
  assert.is(prompt(), '<user><document title="T" context="C">\nHello\n\nWorld\n</document>');
});

test('the text of Word files is shown to the model, without deleted text; archives and bombs are not read', async () => {
  const { chat, prompt } = server();
  const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
  const cell = (text: string) => `<w:tc><w:p>${run(text)}</w:p></w:tc>`;
  const body = `<w:p>${run('A &lt;b&gt; ')}<w:del><w:r><w:delText>no</w:delText></w:r></w:del>${run('&#xE9;')}</w:p>
<w:p>${run('1')}<w:tab/>${run('2')}<w:br/>${run('3')}</w:p><w:tbl><w:tr>${cell('x')}${cell('y')}</w:tr></w:tbl>`;
  await chat({ file_data: base64(docxOf(body)) });
  assert.is(prompt(), '<user><document>\nA <b> é\n1\t2\n3\nx\ty\n</document>');
  const bomb = docxOf(`<w:p>${run('x')}</w:p>${' '.repeat(70 * 2 ** 20)}`);
  for (const file of [
    bomb,
    zipOf('a.txt', Buffer.from('a')),
    docxOf(body).subarray(0, 60),
    Buffer.from('PK\x03\x04'),
  ]) {
    await chat({ file_data: base64(file) });
    assert.match(String(prompt()), 'neither text nor a readable PDF or Word file');
  }
});

test('a closing tag in a file or its name is escaped, so that the file cannot end its own document', async () => {
  const { chat, respond, message, prompt } = server();
  const text = 'One </document>\n</ Document > <document> </documents> <\n/document\n>';
  const escaped = 'One &lt;/document>\n&lt;/ Document > <document> </documents> &lt;\n/document\n>';
  const file = { file_data: base64(text), filename: 'a</document>.md' };
  for (const ask of [chat, respond]) {
    await ask(file);
    assert.is(prompt(), `<user><document title="a&lt;/document>.md">\n${escaped}\n</document>`);
  }
  for (const source of [
    { type: 'base64', media_type: 'text/plain', data: base64(text) },
    { type: 'text', media_type: 'text/plain', data: text },
    { type: 'content', content: text },
    { type: 'content', content: [{ type: 'text', text }] },
  ]) {
    const reply = await message(source);
    assert.is(reply.statusCode, 200, reply.body);
    assert.is(prompt(), `<user><document>\n${escaped}\n</document>`);
  }
});

test('results of tools may have files', async () => {
  const { send, prompt } = server();
  const part = { type: 'input_file', file_data: uri(PDF) };
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'a', output: [part] };
  await send('/v1/responses', { input: [{ role: 'user', content: 'Hi' }, call, output] });
  assert.match(String(prompt()), /<tool><document>\nHello\n\nWorld\n<\/document>$/);
  const source = { type: 'base64', media_type: 'application/pdf', data: base64(PDF) };
  const result = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'document', source }] };
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: [result] },
  ];
  await send('/v1/messages', { max_tokens: 9, messages });
  assert.match(String(prompt()), /<tool><document>\nHello\n\nWorld\n<\/document>$/);
});

test('the model is told of files that cannot be read, and the reply names them', async () => {
  const { chat, respond, message, prompt } = server();
  const encrypted = pdfOf(['Secret'], {
    trailer: `/ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'a'.repeat(64)}> /U <${'b'.repeat(64)}> >>`,
  });
  const cases: [Sent, RegExp][] = [
    [{ file_data: uri('\x89PNG\0\0', 'image/png') }, /neither text nor a readable PDF/],
    [{ file_data: uri('%PDF-1.7 broken') }, /neither text nor a readable PDF/],
    [{ file_data: uri(encrypted) }, /neither text nor a readable PDF/],
    [{ file_data: uri(pdfOf([])) }, /neither text nor a readable PDF|has no text/],
    [{ file_data: uri(pdfOf([''])) }, /has no text/],
    [{ file_id: 'file-1' }, /file-1 is not stored here/],
    [{}, /is not stored here/],
  ];
  for (const [file, note] of cases) {
    const reply = await chat(file);
    assert.equal([reply.statusCode, ignoredBy(reply)], [200, 'messages[0].content[0]'], reply.body);
    assert.match(String(prompt()), note);
    assert.is(ignoredBy(await respond(file)), 'input[0].content[0]');
    assert.match(String(prompt()), note);
  }
  for (const source of [
    { type: 'base64', media_type: 'application/pdf', data: base64('%PDF-') },
    { type: 'file', file_id: 'file_1' },
  ]) {
    const reply = await message(source);
    assert.equal([reply.statusCode, ignoredBy(reply)], [200, 'messages[0].content[0]']);
  }
  const strict = server({ strict: true });
  const param = 'messages[0].content[0]';
  expectError(await strict.chat({ file_id: 'a' }), { status: 400, code: 'unsupported_parameter', param });
  assert.is((await strict.chat({ file_data: uri(PDF) })).statusCode, 200);
});

test('files are downloaded under the rules of images', async () => {
  const web = await imageServer({
    '/a.pdf': (_, response) => response.end(PDF),
    '/notes': (_, response) => response.end('Año'),
    '/moved': redirect('/notes'),
    '/endless': endless,
  });
  try {
    const { respond, message, prompt } = server({ imageHosts: 'any' });
    for (const [path, text] of [
      ['/a.pdf', 'Hello\n\nWorld'],
      ['/notes', 'Año'],
      ['/moved', 'Año'],
    ]) {
      const url = web.url + path;
      const replies = [await respond({ file_url: url }), await message({ type: 'url', url })];
      assert.equal(replies.map(ignoredBy), ['', ''], replies[0]?.body);
      assert.is(prompt(), `<user><document>\n${text}\n</document>`);
    }
    const closed = server({ imageHosts: 'public' });
    const before = web.seen.length;
    for (const [to, url] of [
      [server({ imageHosts: 'any' }), `${web.url}/absent`],
      [server({ imageHosts: 'any' }), `${web.url}/endless`],
      [server({ imageHosts: 'any' }), 'ftp://127.0.0.1/a.pdf'],
      [closed, `${web.url}/notes`],
    ] as const) {
      const reply = await to.respond({ file_url: url });
      assert.equal([reply.statusCode, ignoredBy(reply)], [200, 'input[0].content[0]'], reply.body);
      assert.is(to.prompt(), `<user><document>\n[This document could not be downloaded from ${url}.]\n</document>`);
    }
    assert.equal(web.seen.slice(before), ['/absent', '/endless']);
    const many = Array.from({ length: 30 }, () => ({ type: 'input_file', file_url: `${web.url}/notes` }));
    const { send } = server({ imageHosts: 'any' });
    assert.is(
      ignoredBy(await send('/v1/responses', { input: [{ role: 'user', content: many }] })).split(',').length,
      10,
    );
  } finally {
    await web.close();
  }
});

test('files that are too large or not base64 are errors of their field', async () => {
  const { chat, respond, message } = server();
  const large = Buffer.alloc(21 * 2 ** 20);
  const cases: [string, number, string][] = [
    ['not base64!', 400, 'invalid_value'],
    ['data:text/plain,abc', 400, 'invalid_value'],
    ['data:text/plain;base64,a', 400, 'invalid_value'],
    ['a===', 400, 'invalid_value'],
    [uri(large, 'application/octet-stream'), 413, 'request_too_large'],
  ];
  for (const [file_data, status, code] of cases) {
    const param = 'messages[0].content[0].file.file_data';
    expectError(await chat({ file_data }), { status, code, param });
    expectError(await respond({ file_data }), { status, code, param: 'input[0].content[0].file_data' });
  }
  const source = { type: 'base64', media_type: 'application/pdf', data: '????' };
  assert.is((await message(source)).json().error.param, 'messages[0].content[0].source.data');
});

test('long files are truncated, and the reply says so', async () => {
  const { chat, prompt } = server();
  const reply = await chat({ file_data: uri('a'.repeat(2 ** 22 + 1), 'application/x-log') });
  assert.is(ignoredBy(reply), 'messages[0].content[0]');
  assert.match(String(prompt()).slice(-80), /a\n\[The rest of this document was omitted\.\]\n<\/document>$/);
  const pages = Array.from({ length: 1001 }, (_, page) => `Page ${page + 1}`);
  assert.is(ignoredBy(await chat({ file_data: uri(pdfOf(pages)) })), 'messages[0].content[0]');
  assert.match(String(prompt()), /Page 1000\n\[The rest/);
});

test('a file that expands to gigabytes does not stop the server', async () => {
  const { app, chat } = server();
  const asked = chat({ file_data: uri(pdfBomb(4096)) });
  let isRead = false;
  asked.then(() => {
    isRead = true;
  });
  assert.is((await app.inject({ url: '/live' })).statusCode, 200);
  assert.not(isRead, 'another request waited for the file');
  const reply = await asked;
  assert.equal([reply.statusCode, ignoredBy(reply)], [200, 'messages[0].content[0]'], reply.body);
});

test('the text of a file counts in the number of prompt tokens', async () => {
  const { send } = server();
  const content = [{ type: 'file', file: { file_data: uri(PDF) } }];
  const messages = [{ role: 'user', content }];
  const counted = await send('/v1/chat/completions/input_tokens', { messages });
  assert.is(counted.json().input_tokens, '<user><document>\nHello\n\nWorld\n</document>'.length);
});

test.run();
