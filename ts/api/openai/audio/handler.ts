/** Transcriptions and translations: the model is instructed to write what it hears. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine, Finish } from '../../../engine/engine.js';
import { ChasquiError } from '../../../errors.js';
import { CONVERSATION_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { nameIgnoredParts } from '../../../http/read-fields.js';
import { MAX_AUDIO_SECONDS, MAX_FILE_BYTES, MIB } from '../../../images/limits.js';
import type { AppContext } from '../../context.js';
import { refusePassedOver, renderMessages } from '../../shared/chat/render-chat.js';
import { startCompletion } from '../../shared/chat/to-job.js';
import { CompletionReader } from '../../shared/completion/completion-reader.js';
import {
  type ChoiceBatch,
  dataFailure,
  type EventEncoder,
  forEachChoice,
  streamCompletion,
} from '../../shared/completion/stream-reply.js';
import { refusePages } from '../../shared/read-form.js';
import { withModel } from '../../shared/with-model.js';
import { type AudioForm, readAudioForm } from './read-audio-form.js';
import {
  audioFormSchema,
  type Transcript,
  type TranscriptEvent,
  transcriptEventSchema,
  transcriptSchema,
} from './schema.js';

const TASKS = { transcriptions: 'transcribe', translations: 'translate' } as const;
type Task = (typeof TASKS)[keyof typeof TASKS];
/** Includes the other parts of the form. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + MIB;

export function audioRoutes(app: FastifyInstance, context: AppContext): void {
  app.register(async (scope) => {
    scope.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
      refusePages(request.headers);
      return readAudioForm(await scope.readBytes(request, payload), String(request.headers['content-type']));
    });
    for (const [name, task] of Object.entries(TASKS)) {
      const config = { operation: operationOf(task), takesForm: true };
      const settings = { config, bodyLimit: MAX_FORM_BYTES, preValidation: refuseOtherTypes };
      scope.post<{ Body: AudioForm }>(`/v1/audio/${name}`, settings, transcribeWith(context, task));
    }
  });
}

function transcribeWith(context: AppContext, task: Task) {
  const { profile, options } = context;
  return withModel<AudioForm>(
    context,
    async (request, reply, { engine, signal }) => {
      const form = request.body;
      if (options.strict) refusePassedOver(form.ignored);
      nameIgnoredParts(reply, form.ignored);
      refuseDeaf(engine);
      try {
        const content = [
          { type: 'text' as const, text: instructionOf(task, form) },
          { type: 'input_audio' as const, input_audio: { data: '' } },
        ];
        const messages = [{ role: 'user' as const, content }];
        const rendered = await renderMessages(engine, messages, [{ audio: form.file }], {}, { signal });
        const body = { model: engine.model.id, messages, temperature: form.temperature };
        const streams = startCompletion(engine, profile, body, rendered, { signal, whole: !form.stream });
        request.record.follow(engine.model.id, streams, { prompt: rendered.prompt });
        const transcript = new TranscriptEncoder(rendered.format !== null);
        if (form.stream) {
          const events = { streams, encoder: transcript, signal, translate: aboutFile };
          return await streamCompletion(request, reply, events, options);
        }
        await forEachChoice(streams, (batch) => void transcript.encode(batch));
        const { text, usage } = transcript;
        if (form.format === 'text') return reply.type('text/plain; charset=utf-8').send(`${text}\n`);
        if (form.format === 'json') return { text, usage } satisfies Transcript;
        const duration = await secondsOf(engine, form.file, signal);
        return { task, ...(form.language && { language: form.language }), duration, text, usage } satisfies Transcript;
      } catch (thrown) {
        throw aboutFile(thrown);
      }
    },
    { fail: dataFailure },
  );
}

async function refuseOtherTypes({ body }: FastifyRequest): Promise<void> {
  if (body !== null && typeof body === 'object' && 'file' in body && body.file instanceof Uint8Array) return;
  throw new ChasquiError('unsupported_media_type', 'Send the audio as `multipart/form-data`, in the field `file`.');
}

function refuseDeaf({ model: { id, audioSampleRate } }: Engine): void {
  if (audioSampleRate > 0) return;
  throw new ChasquiError(
    'audio_not_supported',
    `The model \`${id}\` has no audio encoder. Load a model with a projector (\`mmproj\`) for audio, such as Voxtral.`,
    'model',
  );
}

function instructionOf(task: Task, { language, prompt }: AudioForm): string {
  const parts = [task === 'transcribe' ? 'Transcribe the audio to text.' : 'Translate the speech into English text.'];
  if (language !== '') parts.push(`The language of the speech is ${language}.`);
  if (prompt !== '') parts.push(`Context: ${prompt}`);
  return parts.join('\n');
}

async function secondsOf(engine: Engine, file: Uint8Array, signal: AbortSignal): Promise<number> {
  const rate = engine.model.audioSampleRate;
  const samples = await engine.call('decodeAudio', [file, rate, MAX_AUDIO_SECONDS * rate], { signal });
  return samples.length / rate;
}

/** Errors in the audio name the field of the form. */
function aboutFile(thrown: unknown): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.imageIndex === undefined) return thrown;
  return thrown.withMessage(`\`file\`: ${thrown.message}`, 'file');
}

class TranscriptEncoder implements EventEncoder {
  text = '';
  readonly fail = dataFailure;
  readonly #reader: CompletionReader;

  constructor(parsed: boolean) {
    this.#reader = new CompletionReader(parsed);
  }

  encode({ tokens }: ChoiceBatch): string[] {
    const delta = this.#reader
      .read(tokens)
      .map(({ content = '' }) => content)
      .join('');
    this.text += delta;
    return delta === '' ? [] : [toEvent({ type: 'transcript.text.delta', delta })];
  }

  end(): string[] {
    return [toEvent({ type: 'transcript.text.done', text: this.text, usage: this.usage })];
  }

  /** Throws if the completion has not ended. */
  get usage(): NonNullable<Transcript['usage']> {
    return toTokenUsage(this.#reader.finish);
  }
}

function toEvent(event: TranscriptEvent): string {
  return JSON.stringify(event);
}

function toTokenUsage({ promptTokens: input, completionTokens: output }: Finish): NonNullable<Transcript['usage']> {
  return { type: 'tokens', input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function operationOf(task: Task): Operation {
  return {
    id: task === 'transcribe' ? 'createTranscription' : 'createTranslation',
    tag: 'Chat',
    summary:
      task === 'transcribe' ? 'Text of speech in an audio file.' : 'Text of speech in an audio file, in English.',
    description: 'Times are not available, so `srt`, `vtt` and `timestamp_granularities` are refused.',
    form: audioFormSchema,
    errors: [...CONVERSATION_ERRORS, 'unsupported_media_type', 'origin_not_allowed'],
    reply: {
      json: { name: 'Transcript', schema: transcriptSchema },
      event: { name: 'TranscriptEvent', schema: transcriptEventSchema },
      text: 'text/plain',
    },
  };
}
