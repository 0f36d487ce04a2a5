import { type RedirectUriProblem, redirectUriProblem, redirectUriProblems } from './redirect-uris.ts';

export interface AppDetails {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

export type DetailProblem =
  | { readonly field: 'name'; readonly problem: 'length' | 'characters' }
  | { readonly field: 'redirectUris'; readonly problem: 'none' | 'too_many' }
  | { readonly field: 'redirectUris'; readonly problem: RedirectUriProblem; readonly uri: string };

const longestName = 60;
export const mostRedirectUris = 20;

/** All problems, so that a form can show each beside its field. */
export function detailProblems({ name, redirectUris }: AppDetails, development: boolean): DetailProblem[] {
  const problems: DetailProblem[] = [];
  const visible = name.replace(/[\p{White_Space}\p{Default_Ignorable_Code_Point}]/gu, '');
  if (visible === '' || [...name].length > longestName) problems.push({ field: 'name', problem: 'length' });
  // The consent page shows the name, so it must not hide or reorder the text around it.
  else if (/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(name) || !name.isWellFormed())
    problems.push({ field: 'name', problem: 'characters' });
  if (redirectUris.length === 0) problems.push({ field: 'redirectUris', problem: 'none' });
  if (redirectUris.length > mostRedirectUris) problems.push({ field: 'redirectUris', problem: 'too_many' });
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri, development);
    if (problem) problems.push({ field: 'redirectUris', problem, uri });
  }
  return problems;
}

/** For the command line. */
export function problemText(found: DetailProblem): string {
  if (found.field === 'name')
    return found.problem === 'length'
      ? `An app’s name has 1 to ${longestName} characters.`
      : 'An app’s name must not contain control or text-direction characters.';
  if ('uri' in found) return `The redirect URI ${found.uri} ${redirectUriProblems[found.problem]}.`;
  return found.problem === 'none'
    ? 'An app needs at least one redirect URI.'
    : `An app has at most ${mostRedirectUris} redirect URIs.`;
}
