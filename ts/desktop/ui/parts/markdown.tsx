/** Markdown as HTML. While a text grows only its last block is parsed and drawn again. */
import { Component } from 'preact';
import { useRef } from 'preact/hooks';
import { type Block, MarkdownBlocks } from '../state/markdown-blocks.js';
import { CodeBlock } from './code-block.js';
import { sanitise } from './sanitise.js';

interface MarkdownProps {
  text: string;
  /** Whether nothing more comes. */
  complete?: boolean;
}

export function Markdown({ text, complete = true }: MarkdownProps) {
  const blocks = useRef<MarkdownBlocks>(undefined);
  blocks.current ??= new MarkdownBlocks(sanitise);
  const parsed = blocks.current.update(text, complete);
  return (
    <div class="markdown">
      {parsed.map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

/** A finished block is the same object each time, and is left alone. */
class BlockView extends Component<{ block: Block }> {
  override shouldComponentUpdate(next: { block: Block }): boolean {
    return next.block !== this.props.block;
  }

  override render() {
    const { block } = this.props;
    if (block.kind === 'code') return <CodeBlock code={block.code} language={block.language} closed={block.closed} />;
    return <div class="block" dangerouslySetInnerHTML={{ __html: block.html }} />;
  }
}
