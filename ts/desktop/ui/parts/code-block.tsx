/** A code block with its language, a copy button, and highlighting once it is complete. */

import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { CopyButton } from './button.js';
import { ScrollRegion } from './page.js';

interface CodeBlockProps {
  code: string;
  language: string;
  /** Whether the code is complete; growing code is not highlighted. */
  closed: boolean;
}

/** Longer code is not highlighted, to keep the page responsive. */
const maxColoured = 60_000;

export function CodeBlock({ code, language, closed }: CodeBlockProps) {
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
        <CopyButton label={t('copyCode')} text={() => code} />
      </div>
      <ScrollRegion label={language ? t('codeIn', { language }) : t('code')}>
        <pre>
          <code ref={place} />
        </pre>
      </ScrollRegion>
    </div>
  );
}
