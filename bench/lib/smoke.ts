import { readFileSync } from 'node:fs';
import type { Report } from './report.ts';

/** The problems in the output of a short run, independent of the speed of the machine. */
export function smokeProblems(files: { readonly json: URL; readonly svg: URL }): string[] {
  const { rows }: Report = JSON.parse(readFileSync(files.json, 'utf8'));
  const problems = rows.flatMap(({ name, verdict, value, parts, note }) => {
    if (verdict !== 'ran') return [`${name}: ${verdict}${note ? `, ${note}` : ''}`];
    // A frame may come before the answer, so that a time can be none at all.
    const sane = parts.every(
      ({ unit, values }) => values.length > 0 && values.every((each) => each > 0 || unit === 'ms'),
    );
    if (Number.isFinite(value) && parts.length > 0 && sane) return [];
    return [`${name}: its figures are not all above zero: ${JSON.stringify({ value, parts })}`];
  });
  if (rows.length === 0) problems.push('no row was run');
  const svg = readFileSync(files.svg, 'utf8');
  const wrong = xmlProblem(svg);
  if (wrong) problems.push(`the picture: ${wrong}`);
  for (const { title, name } of rows) if (!svg.includes(title)) problems.push(`the picture lacks ${name}`);
  return problems;
}

/** Why this is not well-formed XML, of the simple kind that the chart uses. */
export function xmlProblem(xml: string): string | undefined {
  const open: string[] = [];
  for (const [part] of xml.matchAll(/<[^>]*>?|[^<]+/g)) {
    if (!part.startsWith('<')) {
      if (/&(?!(amp|lt|gt|quot|#\d+);)/.test(part)) return `a bare & in “${part.trim()}”`;
      if (open.length === 0 && part.trim() !== '') return `text outside the root: “${part.trim()}”`;
      continue;
    }
    const [, closing, name = '', self] =
      /^<(\/?)([\w-]+)(?:\s+[\w:-]+="[^"<&]*(?:&\w+;[^"<&]*)*")*\s*(\/?)>$/.exec(part) ?? [];
    if (name === '') return `not a tag: ${part}`;
    if (closing) {
      if (open.pop() !== name) return `</${name}> closes what is not open`;
    } else if (!self) open.push(name);
  }
  return open.length > 0 ? `<${open.at(-1)}> is not closed` : undefined;
}
