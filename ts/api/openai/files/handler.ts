/** Routes of uploaded files. Each file is visible only to the API key that uploaded it. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import type { AppContext } from '../../context.js';
import { type FileObject, fileSchema } from '../../shared/file-schema.js';
import { notFound, OwnFiles } from '../../shared/own-files.js';
import { toPage } from '../../shared/page.js';
import { refusePages } from '../../shared/read-form.js';
import { readUpload, type Upload } from './read-upload.js';
import { type DeletedFile, deletedFileSchema, type FileList, fileListSchema, uploadSchema } from './schema.js';

const URL = '/v1/files';
const ONE = `${URL}/:id`;
/** Includes the other parts of the form. */
const MAX_UPLOAD_BYTES = 21 * 2 ** 20;
const MAX_FILE_BYTES = 20 * 2 ** 20;

type ById = FastifyRequest<{ Params: { id: string } }>;
type ByQuery = FastifyRequest<{ Querystring: Record<string, unknown> }>;

export function filesRoutes(app: FastifyInstance, context: AppContext): void {
  app.register(async (scope) => {
    scope.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
      refusePages(request.headers);
      return readUpload(await scope.readBytes(request, payload), String(request.headers['content-type']));
    });
    const settings = { config: { operation: uploadFile, takesForm: true }, bodyLimit: MAX_UPLOAD_BYTES };
    scope.post(URL, settings, async (request): Promise<FileObject> => {
      const { bytes, filename, purpose } = uploadIn(request.body);
      if (bytes.length > MAX_FILE_BYTES) throw tooLarge();
      return new OwnFiles(request, context).add(filename, purpose, bytes);
    });
  });

  app.get(URL, { config: { operation: listFiles } }, async (request: ByQuery) => {
    const { purpose } = request.query;
    const files = new OwnFiles(request, context).list();
    const wanted = purpose === undefined ? files : files.filter((file) => file.purpose === purpose);
    return toPage(wanted, request.query, { limit: 10_000, length: 1000 }) satisfies FileList;
  });

  app.get(ONE, { config: { operation: retrieveFile } }, async (request: ById) => {
    return new OwnFiles(request, context).get(request.params.id) satisfies FileObject;
  });

  app.get(`${ONE}/content`, { config: { operation: downloadFile } }, async (request: ById, reply) => {
    const { id } = request.params;
    const content = new OwnFiles(request, context).content(id) ?? notFound(id);
    // Never a type that a browser would show: the file is not ours.
    return reply.type('application/octet-stream').header('content-disposition', 'attachment').send(content);
  });

  app.delete(ONE, { config: { operation: deleteFile } }, async (request: ById) => {
    const { id } = request.params;
    new OwnFiles(request, context).delete(id);
    return { id, object: 'file', deleted: true } satisfies DeletedFile;
  });
}

function uploadIn(body: unknown): Upload {
  if (body !== null && typeof body === 'object' && 'bytes' in body && Buffer.isBuffer(body.bytes))
    return body as Upload;
  throw new ChasquiError('unsupported_media_type', 'Send the file as `multipart/form-data`, in the field `file`.');
}

function tooLarge(): ChasquiError {
  return new ChasquiError('request_too_large', `\`file\` is larger than ${MAX_FILE_BYTES / 2 ** 20} MiB.`, 'file');
}

const PARAMETERS = { id: 'The id of the file.' };
const ERRORS = ['response_not_found', 'store_failed'] as const;
const ID = 'file-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';
const FILE: FileObject = {
  id: ID,
  object: 'file',
  bytes: 120,
  created_at: 1_790_000_000,
  filename: 'notes.txt',
  purpose: 'user_data',
  status: 'processed',
};

const reply = { json: { name: 'File', schema: fileSchema } };
const base = { tag: 'Chat', parameters: PARAMETERS, errors: ERRORS, reply } as const;

const uploadFile: Operation = {
  ...base,
  id: 'uploadFile',
  summary: 'Uploads a file, which conversations name by `file_id`.',
  form: uploadSchema,
  errors: ['unsupported_parameter', 'unsupported_media_type', 'origin_not_allowed', 'store_failed'],
};

const listFiles: Operation = {
  id: 'listFiles',
  tag: 'Chat',
  summary: 'Uploaded files.',
  description:
    'In the query: `order` (`desc` is the default, or `asc`), `limit` (at most 10,000, default 1,000), `after` (the id of a file) and `purpose`.',
  errors: ['invalid_value', 'store_failed'],
  reply: { json: { name: 'FileList', schema: fileListSchema } },
  examples: () => {
    const reply = { object: 'list', data: [FILE], first_id: ID, last_id: ID, has_more: false };
    return { files: { summary: 'The only file', reply } };
  },
};

const retrieveFile: Operation = {
  ...base,
  id: 'retrieveFile',
  summary: 'An uploaded file, without its content.',
  examples: () => ({ file: { summary: 'A file', reply: FILE } }),
};

const downloadFile: Operation = {
  ...base,
  id: 'downloadFile',
  summary: 'Content of an uploaded file.',
  reply: { text: 'application/octet-stream' },
};

const deleteFile: Operation = {
  ...base,
  id: 'deleteFile',
  summary: 'Deletes an uploaded file.',
  reply: { json: { name: 'DeletedFile', schema: deletedFileSchema } },
  examples: () => ({ deleted: { summary: 'A deleted file', reply: { id: ID, object: 'file', deleted: true } } }),
};
