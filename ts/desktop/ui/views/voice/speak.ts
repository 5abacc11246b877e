/** Reads text aloud with the speech synthesis of the browser. */
import { signal } from '@preact/signals';
import { locale, t } from '../../state/language.js';
import { notify } from '../../state/notices.js';

export const canSpeak = 'speechSynthesis' in globalThis;

/** The message that is being read. */
export const spoken = signal<string | null>(null);

/** Chromium stops after 15 s of one utterance, so texts are read by sentences. */
const maxLength = 200;

/** The utterances of an earlier call must not end a later one. */
let last = {};

/** Reads texts one after another. Stops what was being read. */
export async function speak(id: string, texts: readonly string[]): Promise<void> {
  stopSpeaking();
  const own = {};
  last = own;
  spoken.value = id;
  const { languageOf } = await import('./language-of-text.js');
  const lang = languageOf(texts.join('\n')) ?? locale();
  const pieces = texts.flatMap((text) => inPieces(text, lang));
  if (own !== last) return;
  const end = () => {
    if (own === last) spoken.value = null;
  };
  if (pieces.length === 0) end();
  for (const [index, piece] of pieces.entries()) {
    const utterance = Object.assign(new SpeechSynthesisUtterance(piece), { lang });
    if (index === pieces.length - 1) utterance.onend = end;
    utterance.onerror = ({ error }) => {
      if (own !== last || error === 'canceled' || error === 'interrupted') return;
      stopSpeaking();
      notify('error', t('cannotReadAloud'));
    };
    speechSynthesis.speak(utterance);
  }
}

export function stopSpeaking(): void {
  last = {};
  spoken.value = null;
  if (canSpeak) speechSynthesis.cancel();
}

// Browsers continue to speak after a reload.
addEventListener('pagehide', stopSpeaking);

/** Sentences, joined up to `maxLength`. */
function inPieces(text: string, lang: string): string[] {
  const pieces: string[] = [];
  for (const { segment } of new Intl.Segmenter(lang, { granularity: 'sentence' }).segment(text)) {
    const before = pieces.at(-1);
    if (before !== undefined && before.length + segment.length <= maxLength)
      pieces[pieces.length - 1] = before + segment;
    else pieces.push(segment);
  }
  return pieces.map((piece) => piece.trim()).filter(Boolean);
}
