/** A page or image that a model wrote, in a sandboxed frame without network access. */

import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { sandboxFrame } from '../state/sandbox.js';
import { Dialog } from './dialog.js';

export function Preview({ code, close }: { code: string; close: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const showing = new AbortController();
    place.current?.append(sandboxFrame(t('preview'), { html: code }, showing.signal));
    return () => showing.abort();
  }, []);
  return (
    <Dialog title={t('preview')} close={close}>
      <div ref={place} class="preview" />
    </Dialog>
  );
}
