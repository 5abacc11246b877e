/** Renders Markdown. While text streams in, only its last block is parsed and rendered again. */

import { Component, createRef } from 'preact';
import { useRef } from 'preact/hooks';
import { drawFormulas } from '../math/draw-formulas.js';
import { t } from '../state/language.js';
import { type Block, MarkdownBlocks } from '../state/markdown-blocks.js';
import { attempt } from '../state/notices.js';
import { announce } from './announcer.js';
import { CodeBlock } from './code-block.js';
import { sanitise } from './sanitise.js';

interface MarkdownProps {
  text: string;
  complete?: boolean;
  /** Offers previews of code blocks with HTML or SVG. Requires the route `/sandbox`. */
  preview?: boolean;
}

export function Markdown({ text, complete = true, preview = false }: MarkdownProps) {
  const blocks = useRef<MarkdownBlocks>(undefined);
  blocks.current ??= new MarkdownBlocks(sanitise);
  const parsed = blocks.current.update(text, complete);
  return (
    <div class="markdown">
      {parsed.map((block, index) => (
        <BlockView key={index} block={block} preview={preview} />
      ))}
    </div>
  );
}

/** Finished blocks are identical objects and are not rendered again. */
class BlockView extends Component<{ block: Block; preview: boolean }> {
  readonly #place = createRef<HTMLDivElement>();

  override shouldComponentUpdate(next: { block: Block }): boolean {
    return next.block !== this.props.block;
  }

  override componentDidMount(): void {
    if (!this.#place.current) return;
    addCopyButtons(this.#place.current);
    drawFormulas(this.#place.current);
  }

  override componentDidUpdate(): void {
    this.componentDidMount();
  }

  override render() {
    const { block, preview } = this.props;
    if (block.kind === 'code') {
      const { code, language, closed } = block;
      return <CodeBlock code={code} language={language} closed={closed} preview={preview} />;
    }
    return <div class="block" dir="auto" ref={this.#place} dangerouslySetInnerHTML={{ __html: block.html }} />;
  }
}

/** Adds copy buttons to code inside other HTML, such as lists. Idempotent. */
function addCopyButtons(place: HTMLElement): void {
  for (const code of place.querySelectorAll('pre')) {
    if (code.parentElement?.classList.contains('copied-code')) continue;
    const frame = document.createElement('div');
    frame.className = 'copied-code';
    code.replaceWith(frame);
    frame.append(code, buttonFor(code));
  }
}

function buttonFor(code: HTMLElement): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet';
  button.textContent = t('copyCode');
  button.addEventListener('click', () => {
    void attempt(async () => {
      await navigator.clipboard.writeText(code.textContent.replace(/\n$/, ''));
      announce(t('copied'));
    });
  });
  return button;
}
