import { useEffect } from 'preact/hooks';
import { IconAction } from '../../parts/button.js';
import { t } from '../../state/language.js';
import { canSpeak, speak, spoken, stopSpeaking } from './speak.js';

/** Reads the completion of a message, without its reasoning and code. */
export function ReadAloud({ id }: { id: string }) {
  useEffect(
    () => () => {
      if (spoken.peek() === id) stopSpeaking();
    },
    [id],
  );
  if (!canSpeak) return null;
  return spoken.value === id ? (
    <IconAction label={t('stopReading')} icon="stop" pressed run={stopSpeaking} />
  ) : (
    <IconAction label={t('readAloud')} icon="speaker" pressed={false} run={() => speak(id, textsOf(id))} />
  );
}

/** The rendered texts: no Markdown, no addresses of links. */
function textsOf(id: string): string[] {
  const blocks = document.querySelectorAll<HTMLElement>(`#message-${CSS.escape(id)} > .markdown > .block`);
  return [...blocks].flatMap((block) => {
    const copy = block.cloneNode(true) as HTMLElement;
    for (const each of copy.querySelectorAll('.code-block, math, svg')) each.remove();
    const parts = copy.querySelectorAll('li, tr');
    return parts.length > 0 ? [...parts].map(({ textContent }) => textContent) : [copy.textContent];
  });
}
