/** Renders Markdown. While text streams in, only its last block is parsed and rendered again. */

import { Component, createRef, render } from 'preact';
import { useRef } from 'preact/hooks';
import { drawFormulas } from '../math/draw-formulas.js';
import { type Block, MarkdownBlocks } from '../state/markdown-blocks.js';
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

/** Finished blocks are identical objects. Equal HTML is not rendered again either, which would close previews. */
class BlockView extends Component<{ block: Block; preview: boolean }> {
  readonly #place = createRef<HTMLDivElement>();
  #nested: HTMLElement[] = [];

  override shouldComponentUpdate(next: { block: Block }): boolean {
    const { block } = this.props;
    if (next.block.kind === 'code' || block.kind === 'code') return next.block !== block;
    return next.block.html !== block.html || next.block.closed !== block.closed;
  }

  override componentDidMount(): void {
    const { block, preview } = this.props;
    if (!this.#place.current || block.kind === 'code') return;
    this.#nested = renderNestedCode(this.#place.current, block.closed, preview);
    drawFormulas(this.#place.current);
  }

  override componentDidUpdate(): void {
    this.componentWillUnmount();
    this.componentDidMount();
  }

  override componentWillUnmount(): void {
    for (const place of this.#nested) render(null, place);
    this.#nested = [];
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

/** Replaces code inside other HTML, such as lists, by code blocks. Returns their places. */
function renderNestedCode(within: HTMLElement, closed: boolean, preview: boolean): HTMLElement[] {
  return [...within.querySelectorAll('pre')].map((pre) => {
    const place = document.createElement('div');
    pre.replaceWith(place);
    const language = pre.querySelector('code')?.className.replace(/^language-/, '') ?? '';
    const code = pre.textContent.replace(/\n$/, '');
    render(<CodeBlock code={code} language={language} closed={closed} preview={preview} />, place);
    return place;
  });
}
