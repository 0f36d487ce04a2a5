import { nameProblem } from '../../platform/names.ts';
import { type RedirectUriProblem, redirectUriProblem, redirectUriProblems } from './redirect-uris.ts';

export interface AppDetails {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

export type DetailProblem =
  | { readonly field: 'name'; readonly problem: 'length' | 'characters' | 'reserved' }
  | { readonly field: 'redirectUris'; readonly problem: 'none' | 'too_many' }
  | { readonly field: 'redirectUris'; readonly problem: RedirectUriProblem; readonly uri: string };

const longestName = 60;
export const mostRedirectUris = 20;

const nameProblems = { blank: 'length', invisible: 'characters', reserved: 'reserved' } as const;

/** All problems, so that a form can show each beside its field. */
export function detailProblems(
  { name, redirectUris }: AppDetails,
  { development, authUrl }: { development: boolean; authUrl: string },
): DetailProblem[] {
  const problems: DetailProblem[] = [];
  // The consent page shows the name, so it must not hide or reorder the text around it, nor pass for the operator.
  const found = [...name].length > longestName ? 'blank' : nameProblem(name, new URL(authUrl).hostname);
  if (found) problems.push({ field: 'name', problem: nameProblems[found] });
  if (redirectUris.length === 0) problems.push({ field: 'redirectUris', problem: 'none' });
  if (redirectUris.length > mostRedirectUris) problems.push({ field: 'redirectUris', problem: 'too_many' });
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri, development);
    if (problem) problems.push({ field: 'redirectUris', problem, uri });
  }
  return problems;
}

const nameTexts = {
  length: `An app’s name has 1 to ${longestName} characters that can be seen.`,
  characters: 'An app’s name must not contain invisible, control or text-direction characters.',
  reserved: 'This app’s name reads as if it belonged to Namjai or the operator.',
};

/** For the command line. */
export function problemText(found: DetailProblem): string {
  if (found.field === 'name') return nameTexts[found.problem];
  if ('uri' in found) return `The redirect URI ${found.uri} ${redirectUriProblems[found.problem]}.`;
  return found.problem === 'none'
    ? 'An app needs at least one redirect URI.'
    : `An app has at most ${mostRedirectUris} redirect URIs.`;
}
