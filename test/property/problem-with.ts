/** Checks that no reply may fail. */

/** Replies must not reveal paths or code positions. */
const LEAKS = /node_modules|\.(ts|js|cpp|h):\d+|\n\s+at |std::|0x[0-9a-f]{8}|\.gguf/;

/** What is wrong with a reply, whatever the request was; null: nothing. */
export function problemWith(status: number, type: string, body: string): string | null {
  if (LEAKS.test(body)) return 'it tells of the inside of the server';
  if (status === 200)
    return type.startsWith('text/event-stream') && /"server_error"/.test(body) ? 'the stream failed' : null;
  if (status < 400 || status >= 500) return 'this status';
  const { error } = JSON.parse(body) as { error: string | { param: string | null; code: string; message: string } };
  // Ollama's errors are a sentence.
  if (typeof error === 'string') return error === '' ? 'nothing is said' : null;
  // Path parameters are no body fields.
  const aboutAll =
    ['invalid_json', 'response_not_found'].includes(error.code) || error.message.startsWith('The request body');
  return error.param === null && !aboutAll ? 'no field is named' : null;
}
