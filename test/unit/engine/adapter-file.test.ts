import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as files from '../../../ts/engine/adapter-file.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: the files of adapters');

test('name and scale may be left out; a path may hold colons', () => {
  const cases: [string, name: string, file: string, scale: number][] = [
    ['a.gguf', 'a', 'a.gguf', 1],
    ['dir/b.GGUF:0.5', 'b', 'dir/b.GGUF', 0.5],
    ['sql=c.gguf', 'sql', 'c.gguf', 1],
    ['sql-2.0=x/c.gguf:-1.25', 'sql-2.0', 'x/c.gguf', -1.25],
    ['x=with:colon.gguf', 'x', 'with:colon.gguf', 1],
  ];
  for (const [text, name, file, scale] of cases) {
    assert.equal(files.readAdapterFiles([text]), [{ name, path: path.resolve(file), scale }]);
  }
});

test('invalid adapter files are refused', () => {
  const refused: [string[], RegExp][] = [
    [['x='], /names no file/],
    [['=a.gguf'], /letters, digits/],
    [['with space.gguf'], /letters, digits/],
    [['with:colon.gguf'], /letters, digits/],
    [['a.gguf:101'], /from -100 to 100/],
    [['a/x.gguf', 'b/x.gguf'], /two adapters with the name x/],
    [Array.from({ length: 65 }, (_, at) => `${at}=a.gguf`), /64 at most/],
  ];
  for (const [texts, says] of refused) {
    assert.throws(
      () => files.readAdapterFiles(texts),
      (error: ChasquiError) =>
        error instanceof ChasquiError && error.code === 'invalid_options' && says.test(error.message),
      `${texts[0]}`,
    );
  }
});

test.run();
