/** The form of a transcription or a translation. */
import { type ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { fileIn, parseForm } from '../../shared/read-form.js';
import { audioFormSchema } from './schema.js';

export interface AudioForm {
  file: Uint8Array;
  model?: string;
  language: string;
  prompt: string;
  format: 'json' | 'text' | 'verbose_json';
  temperature: number;
  stream: boolean;
  /** Fields without effect. */
  ignored: readonly string[];
}

const MAX_TEXT = 2 ** 16;
const FORMATS: readonly unknown[] = audioFormSchema.properties.response_format.enum;
/** A model with an audio encoder reports no times. */
const WITH_TIMES = /^(srt|vtt|diarized_json)$/;
const REFUSED = ['timestamp_granularities', 'include', 'known_speaker_names', 'known_speaker_references'];

/** Rejects with errors that name the field. */
export async function readAudioForm(body: Buffer, contentType: string): Promise<AudioForm> {
  const form = await parseForm(body, contentType);
  const names = [...new Set([...form.keys()].map((name) => name.replace(/\[\]$/, '')))];
  const refused = names.find((name) => REFUSED.includes(name));
  if (refused !== undefined) {
    throw unsupported(refused, 'is not supported: models with an audio encoder report text only');
  }
  const textOf = (name: string): string => {
    const value = form.get(name) ?? '';
    if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
    throw invalidValue(`\`${name}\` must be a text of at most ${MAX_TEXT} characters.`, name);
  };
  const format = textOf('response_format') || 'json';
  if (WITH_TIMES.test(format)) {
    throw unsupported('response_format', `cannot be ${format}, which has times: use json, text or verbose_json`);
  }
  if (!FORMATS.includes(format)) throw invalid('response_format', `one of ${FORMATS.join(', ')}`);
  const temperature = Number(textOf('temperature') || 0);
  if (!(temperature >= 0 && temperature <= 100)) throw invalid('temperature', 'a number from 0 to 100');
  const stream = textOf('stream') || 'false';
  if (!/^(true|false)$/i.test(stream)) throw invalid('stream', '`true` or `false`');
  const model = textOf('model');
  return {
    file: new Uint8Array(await fileIn(form).arrayBuffer()),
    ...(model !== '' && { model }),
    language: textOf('language'),
    prompt: textOf('prompt'),
    format: format as AudioForm['format'],
    temperature,
    stream: /^true$/i.test(stream),
    ignored: names.filter((name) => !(name in audioFormSchema.properties)),
  };
}

function invalid(name: string, must: string): ChasquiError {
  return invalidValue(`\`${name}\` must be ${must}.`, name);
}

function unsupported(name: string, why: string): ChasquiError {
  return unsupportedParameter(`\`${name}\` ${why}.`, name);
}
