/** A code block with its language, a copy button, highlighting once it is complete, and a preview of HTML and SVG. */

import { useSignal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { Action, CopyButton } from './button.js';
import { ScrollRegion } from './page.js';

interface CodeBlockProps {
  code: string;
  language: string;
  /** Whether the code is complete; growing code is not highlighted. */
  closed: boolean;
  /** Offers a preview of HTML and SVG. */
  preview?: boolean;
}

/** Longer code is not highlighted, to keep the page responsive. */
const maxColoured = 60_000;

export function CodeBlock({ code, language, closed, preview = false }: CodeBlockProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    element.textContent = code;
    if (!closed || !language || code.length > maxColoured) return;
    let wanted = true;
    void import('./highlight.js').then(({ highlight }) => {
      const html = wanted ? highlight(code, language) : undefined;
      if (html !== undefined) element.innerHTML = html;
    });
    return () => {
      wanted = false;
    };
  }, [code, language, closed]);
  return (
    <div class="code-block">
      <div class="code-head">
        <span>{language}</span>
        <span class="row">
          {preview && closed && isVisual(code, language) && <PreviewButton code={code} />}
          <CopyButton label={t('copyCode')} text={() => code} />
        </span>
      </div>
      <ScrollRegion label={language ? t('codeIn', { language }) : t('code')}>
        <pre>
          <code ref={place} />
        </pre>
      </ScrollRegion>
    </div>
  );
}

/** Models label SVG as `svg`, `xml` or not at all. */
function isVisual(code: string, language: string): boolean {
  return /^(html|svg)$/i.test(language) || (/^(xml)?$/i.test(language) && /^\s*<svg\b/i.test(code));
}

function PreviewButton({ code }: { code: string }) {
  const Preview = useSignal<FunctionComponent<{ code: string; close: () => void }>>();
  const open = async () => {
    const module = await import('./preview.js');
    Preview.value = module.Preview;
  };
  const close = () => {
    Preview.value = undefined;
  };
  return (
    <>
      <Action label={t('preview')} icon="play" kind="quiet" run={open} />
      {Preview.value && <Preview.value code={code} close={close} />}
    </>
  );
}
