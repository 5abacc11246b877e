import { stripVTControlCharacters } from 'node:util';

/** Durations of test files, from the headings that uvu prints when it begins one. */
export class FileTimes {
  #tier;
  #files = [];
  #began = 0;

  constructor(tier) {
    this.#tier = tier;
  }

  read(text) {
    for (const [, file] of stripVTControlCharacters(text).matchAll(/^(\S+\.test\.ts)$/gm)) {
      this.#close();
      this.#files.push({ file: `test/${this.#tier}/${file}`, seconds: 0 });
    }
  }

  #close() {
    const last = this.#files.at(-1);
    if (last) last.seconds = (Date.now() - this.#began) / 1000;
    this.#began = Date.now();
  }

  end() {
    this.#close();
    return this.#files;
  }
}
