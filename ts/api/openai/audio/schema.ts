/** Forms and replies of transcriptions and translations. */
import { exactly, field, integer, number, objectOf, type Static, string } from '../../../http/schema/json-schema.js';

const text = (description: string) => ({ type: 'string', description }) as const;

export const audioFormSchema = {
  type: 'object',
  required: ['file'],
  properties: {
    file: { type: 'string', format: 'binary', description: 'A WAV, MP3 or FLAC file.' },
    model: text('A model with an audio encoder.'),
    language: text('The language of the speech; it becomes a part of the instruction.'),
    prompt: text('Context, such as names in the speech; it becomes a part of the instruction.'),
    response_format: { type: 'string', enum: ['json', 'text', 'verbose_json'], default: 'json' },
    temperature: { type: 'number', minimum: 0, default: 0 },
    stream: { type: 'boolean', default: false },
  },
} as const;

const usage = objectOf({
  type: exactly('tokens'),
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
});

export const transcriptSchema = objectOf(
  { text: string },
  {
    usage,
    /** These only with `verbose_json`. */
    task: string,
    /** As in the request. */
    language: string,
    duration: field('Seconds of audio.', number),
  },
);

export const transcriptEventSchema = objectOf({ type: string }, { delta: string, text: string, usage });

export type Transcript = Static<typeof transcriptSchema>;
export type TranscriptEvent = Static<typeof transcriptEventSchema>;
