import * as assert from 'uvu/assert';

export interface ExpectedError {
  status: number;
  type?: string;
  param?: string | null;
  code: string;
  /** Pattern of the message. */
  says?: RegExp;
}

/** A failure is what the contract says: status, envelope, content type, request id. */
export function expectError(
  reply: { statusCode: number; body: string; headers: Record<string, unknown> },
  { status, type = 'invalid_request_error', param = null, code, says = /./ }: ExpectedError,
): void {
  assert.is(reply.statusCode, status, reply.body);
  assert.match(String(reply.headers['content-type']), /^application\/json/);
  assert.match(String(reply.headers['x-request-id']), /^req_[0-9a-f]{32}$/);
  const { error, ...rest } = JSON.parse(reply.body);
  assert.equal(rest, {});
  const lengths = 'n_ctx' in error ? ['n_ctx', 'n_prompt_tokens'] : [];
  assert.equal(Object.keys(error).sort(), ['code', 'message', ...lengths, 'param', 'type']);
  assert.equal({ type: error.type, param: error.param, code: error.code }, { type, param, code }, error.message);
  assert.match(error.message, says);
}
