import { isVariable, type Value, type Variable } from './call.ts';

/** How a language writes its values. */
export interface Notation {
  readonly text: (text: string) => string;
  readonly name: (name: string) => string;
  readonly word: (value: boolean | null) => string;
  readonly variable: (variable: Variable) => string;
  readonly indent: string;
  /** `{ a: 1 }` rather than `{"a": 1}`. */
  readonly spaced: boolean;
  readonly trailingComma: boolean;
}

const longestLine = 72;

/** A value as source text, on one line if it is short. */
export function literal(value: Value, notation: Notation, indent = ''): string {
  if (isVariable(value)) return notation.variable(value);
  if (typeof value === 'string') return notation.text(value);
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value === 'boolean') return notation.word(value);
  const inner = indent + notation.indent;
  const isList = Array.isArray(value);
  const items = Object.entries(value).map(([name, item]) => {
    const text = literal(item, notation, inner);
    return isList ? text : `${notation.name(name)}: ${text}`;
  });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return open + close;
  const space = notation.spaced && !isList ? ' ' : '';
  const line = `${open}${space}${items.join(', ')}${space}${close}`;
  if (indent.length + line.length <= longestLine && !line.includes('\n')) return line;
  const lines = items.map((item) => inner + item).join(',\n');
  return `${open}\n${lines}${notation.trailingComma ? ',' : ''}\n${indent}${close}`;
}
