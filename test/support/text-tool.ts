/** A custom tool as the model sees it, and a call of it as a model may write it. */
import * as assert from 'uvu/assert';
import type { RenderOptions } from '../../ts/engine/engine.js';

export const INPUT = '*** Begin "Patch"\n+\té\\😀\n';

/** The arguments of a call with that input, with every way that JSON has to write a character. */
export const ARGUMENTS = String.raw`{ "input" : "*** Begin \"Patch\"\n+\t\u00e9\\\ud83d\ude00\n"}`;

/** Asserts that the tool is a function with one text argument, and that its description contains the tool's own. */
export function assertTakesText([tool]: RenderOptions['tools'] = [], description: string): void {
  assert.ok(tool?.description?.startsWith(`${description}\n\n`), tool?.description);
  assert.equal(tool?.parameters, {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  });
}
