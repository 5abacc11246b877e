/** Commands of TeX that stand for one character or one name. */

const GREEK =
  'alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν ' +
  'xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ ' +
  'Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω';

const LETTERS = 'infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ imath ı jmath ȷ wp ℘';

const OPERATORS =
  'pm ± mp ∓ times × div ÷ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ dagger † wedge ∧ land ∧ ' +
  'vee ∨ lor ∨ neg ¬ lnot ¬ cap ∩ cup ∪ setminus ∖ le ≤ leq ≤ ge ≥ geq ≥ ll ≪ gg ≫ ne ≠ neq ≠ equiv ≡ sim ∼ simeq ≃ ' +
  'approx ≈ cong ≅ propto ∝ prec ≺ succ ≻ in ∈ notin ∉ ni ∋ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ perp ⊥ parallel ∥ ' +
  'mid ∣ forall ∀ exists ∃ nexists ∄ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ implies ⟹ ' +
  'Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺ mapsto ↦ longrightarrow ⟶ uparrow ↑ downarrow ↓ ldots … dots … cdots ⋯ vdots ⋮ ' +
  'ddots ⋱ therefore ∴ because ∵ angle ∠ triangle △ square □ prime ′ top ⊤ bot ⊥ models ⊨ vdash ⊢ colon : ' +
  'langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } vert | Vert ‖ lvert | rvert | backslash \\';

/** Limits stand above and below them where there is room. */
const LARGE = 'sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀';
const INTEGRALS = 'int ∫ iint ∬ iiint ∭ oint ∮';

const FUNCTIONS =
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp arg deg dim hom ker sgn Pr';
const LIMITS = 'lim max min sup inf limsup liminf det gcd argmax argmin';

const SPACES: Readonly<Record<string, string>> = {
  ',': '0.17em',
  ':': '0.22em',
  ';': '0.28em',
  '!': '-0.17em',
  ' ': '0.25em',
  quad: '1em',
  qquad: '2em',
};

export type Symbol =
  | { kind: 'letter' | 'operator' | 'large' | 'integral'; text: string }
  | { kind: 'function' | 'limits'; text: string }
  | { kind: 'space'; text: string };

const symbols = new Map<string, Symbol>();
for (const [kind, table] of [
  ['letter', GREEK],
  ['letter', LETTERS],
  ['operator', OPERATORS],
  ['large', LARGE],
  ['integral', INTEGRALS],
] as const) {
  const words = table.split(' ');
  for (let at = 0; at < words.length; at += 2)
    symbols.set(words[at] as string, { kind, text: words[at + 1] as string });
}
for (const name of FUNCTIONS.split(' ')) symbols.set(name, { kind: 'function', text: name });
for (const name of LIMITS.split(' ')) symbols.set(name, { kind: 'limits', text: name });
for (const [name, text] of Object.entries(SPACES)) symbols.set(name, { kind: 'space', text });
for (const text of '{}$%&#_') symbols.set(text, { kind: 'operator', text });
symbols.set('|', { kind: 'operator', text: '‖' });

export function symbolOf(command: string): Symbol | undefined {
  return symbols.get(command);
}

/** Letters of other alphabets: the first capital and small letter and digit of each, and the letters that stand elsewhere. */
const ALPHABETS: Readonly<Record<string, { capital: number; small?: number; digit?: number; elsewhere?: string }>> = {
  mathbf: { capital: 0x1d400, small: 0x1d41a, digit: 0x1d7ce },
  boldsymbol: { capital: 0x1d468, small: 0x1d482, digit: 0x1d7ce },
  mathbb: { capital: 0x1d538, small: 0x1d552, digit: 0x1d7d8, elsewhere: 'CℂHℍNℕPℙQℚRℝZℤ' },
  mathcal: { capital: 0x1d49c, elsewhere: 'BℬEℰFℱHℋIℐLℒMℳRℛ' },
  mathfrak: { capital: 0x1d504, small: 0x1d51e, elsewhere: 'CℭHℌIℑRℜZℨ' },
};

export function isAlphabet(command: string): boolean {
  return Object.hasOwn(ALPHABETS, command);
}

export function inAlphabet(command: string, character: string): string {
  const { capital, small, digit, elsewhere = '' } = ALPHABETS[command] ?? { capital: 0 };
  const found = elsewhere.indexOf(character);
  if (found >= 0 && found % 2 === 0) return elsewhere.charAt(found + 1);
  if (/[A-Z]/.test(character)) return shifted(character, 'A', capital);
  if (/[a-z]/.test(character) && small !== undefined) return shifted(character, 'a', small);
  if (/[0-9]/.test(character) && digit !== undefined) return shifted(character, '0', digit);
  return character;
}

function shifted(character: string, first: string, to: number): string {
  return String.fromCodePoint(to + character.charCodeAt(0) - first.charCodeAt(0));
}
