/** Bodies that are `multipart/form-data`. */
import type { IncomingHttpHeaders } from 'node:http';
import { ChasquiError } from '../../errors.js';

/** Node's parser has no limit. */
const MAX_PARTS = 32;

/** Rejects with `bad_request`. */
export async function parseForm(body: Buffer, contentType: string): Promise<FormData> {
  const [, boundary = ''] = /boundary="?([^";]{1,70})/i.exec(contentType) ?? [];
  if (boundary === '' || countUpTo(body, `--${boundary}`, MAX_PARTS) === MAX_PARTS) throw invalidForm();
  try {
    return await new Response(body, { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw invalidForm();
  }
}

/** Throws if the form has no file in `file`. */
export function fileIn(form: FormData): File {
  const file = form.get('file');
  if (file === null) {
    throw new ChasquiError('missing_required_parameter', 'Missing required parameter: `file`.', 'file');
  }
  if (typeof file === 'string') throw new ChasquiError('invalid_type', '`file` must be a file with a name.', 'file');
  return file;
}

function countUpTo(body: Buffer, text: string, max: number): number {
  let count = 0;
  for (let at = body.indexOf(text); at >= 0 && count < max; at = body.indexOf(text, at + text.length)) count += 1;
  return count;
}

function invalidForm(): ChasquiError {
  const message = `The body is not valid \`multipart/form-data\`, or has more than ${MAX_PARTS - 2} parts.`;
  return new ChasquiError('bad_request', message);
}

/**
 * Throws `origin_not_allowed` for uploads from web pages without a key. A page may send forms to other servers without a CORS
 * preflight; a header with a key requires one.
 */
export function refusePages({ origin, authorization, ...headers }: IncomingHttpHeaders): void {
  const isFromPage = origin !== undefined || headers['sec-fetch-site'] !== undefined;
  if (!isFromPage || authorization !== undefined || headers['x-api-key'] !== undefined) return;
  throw new ChasquiError('origin_not_allowed', 'A web page must send an API key with an upload. Any key will do.');
}
