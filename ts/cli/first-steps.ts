/** The text that `chasqui` prints without arguments. */

import { helpOf, helpWidth } from './output/fit-help.js';

interface Step {
  command: string;
  does: string;
}

const STEPS: readonly Step[] = [
  { command: 'serve', does: 'serve the small model that comes with it' },
  { command: 'serve --model <file>', does: 'serve a GGUF file of yours' },
  { command: 'search <words>', does: 'find models of the Hugging Face hub' },
  { command: 'serve -hf <user/repo>', does: 'download one of them, and serve it' },
  { command: 'run <file or user/repo>', does: 'chat with either in the terminal' },
  { command: 'desktop', does: 'find models and chat with them in an app' },
  { command: 'bench', does: 'measure how fast models are on this machine' },
  { command: 'doctor', does: 'see what it computes with here, and why' },
];

/** @param call the command that starts chasqui, see `ownCall` */
export function firstSteps(version: string, call: string, width = helpWidth(process.stdout)): string {
  const help = helpOf(width);
  const steps = STEPS.map(({ command, does }) => ({ term: `${call} ${command}`, does }));
  const termWidth = Math.max(...steps.map(({ term }) => term.length));
  const paragraph = (text: string) => help.boxWrap(text, width);
  return [
    paragraph(
      `chasqui ${version} runs language models on this machine, behind the interfaces of OpenAI and Anthropic. Say what it should do:`,
    ),
    '',
    ...steps.map(({ term, does }) => help.formatItem(term, termWidth, does, help)),
    '',
    paragraph('A server says where it is and how to try it. Stop it by Ctrl-C.'),
    paragraph(`All commands: ${call} --help. One of them: ${call} serve --help.`),
  ].join('\n');
}
