import { hidesCharacters, nameProblem } from '../../platform/names.ts';
import { toLink } from '../../platform/web/links.ts';
import { type RedirectUriProblem, redirectUriProblem, redirectUriProblems } from './redirect-uris.ts';
import type { DetailColumns } from './repo.ts';

export interface AppDetails {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Absent or empty: none. So are the addresses. */
  readonly description?: string | undefined;
  readonly homepage?: string | undefined;
  readonly privacy?: string | undefined;
}

export type DetailProblem =
  | { readonly field: 'name'; readonly problem: 'length' | 'characters' | 'reserved' }
  | { readonly field: 'description'; readonly problem: 'length' | 'characters' }
  | { readonly field: 'homepage' | 'privacy'; readonly problem: 'not_https' }
  | { readonly field: 'redirectUris'; readonly problem: 'none' | 'too_many' }
  | { readonly field: 'redirectUris'; readonly problem: RedirectUriProblem; readonly uri: string };

const longestName = 60;
export const longestDescription = 300;
export const mostRedirectUris = 20;

const problemOfName = { blank: 'length', invisible: 'characters', reserved: 'reserved' } as const;

/** The columns, or all problems, so that a form can show each beside its field. */
export function readDetails(
  input: AppDetails,
  { development, authUrl, publicApp }: { development: boolean; authUrl: string; publicApp: boolean },
): { readonly columns: DetailColumns } | { readonly problems: readonly [DetailProblem, ...DetailProblem[]] } {
  const name = input.name.trim();
  const redirectUris = [...new Set(input.redirectUris)];
  // Forms send a line break as two characters. It counts as one.
  const description = input.description?.replaceAll('\r\n', '\n').trim() || null;
  const [homepage, privacy] = [input.homepage?.trim() || null, input.privacy?.trim() || null];
  const [first, ...more] = [
    ...nameProblems(name, new URL(authUrl).hostname),
    ...descriptionProblems(description),
    ...linkProblems('homepage', homepage),
    ...linkProblems('privacy', privacy),
    ...redirectProblems(redirectUris, { development, publicApp }),
  ];
  if (first) return { problems: [first, ...more] };
  return {
    columns: {
      name,
      redirect_uris: JSON.stringify(redirectUris),
      description,
      homepage_url: homepage && (toLink(homepage) ?? null),
      privacy_url: privacy && (toLink(privacy) ?? null),
    },
  };
}

/** The consent page shows the name, so it must not hide or reorder the text around it, nor pass for the operator. */
function nameProblems(name: string, host: string): DetailProblem[] {
  const found = [...name].length > longestName ? 'blank' : nameProblem(name, host);
  return found ? [{ field: 'name', problem: problemOfName[found] }] : [];
}

function descriptionProblems(description: string | null): DetailProblem[] {
  if (description === null) return [];
  if ([...description].length > longestDescription) return [{ field: 'description', problem: 'length' }];
  return hidesCharacters(description.replaceAll('\n', '')) ? [{ field: 'description', problem: 'characters' }] : [];
}

const linkProblems = (field: 'homepage' | 'privacy', address: string | null): DetailProblem[] =>
  address === null || toLink(address) !== undefined ? [] : [{ field, problem: 'not_https' }];

function redirectProblems(
  redirectUris: readonly string[],
  { development, publicApp }: { development: boolean; publicApp: boolean },
): DetailProblem[] {
  const problems: DetailProblem[] = [];
  // A public app without one uses the device flow.
  if (redirectUris.length === 0 && !publicApp) problems.push({ field: 'redirectUris', problem: 'none' });
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
const descriptionTexts = {
  length: `An app’s description has at most ${longestDescription} characters.`,
  characters: 'An app’s description must not contain invisible, control or text-direction characters.',
};

/** For the command line. */
export function problemText(found: DetailProblem): string {
  if (found.field === 'name') return nameTexts[found.problem];
  if (found.field === 'description') return descriptionTexts[found.problem];
  if (found.field !== 'redirectUris')
    return `The address of the ${found.field === 'homepage' ? 'homepage' : 'privacy page'} must begin with https:// and have at most 2,048 characters.`;
  if ('uri' in found) return `The redirect URI ${found.uri} ${redirectUriProblems[found.problem]}.`;
  return found.problem === 'none'
    ? 'An app needs at least one redirect URI.'
    : `An app has at most ${mostRedirectUris} redirect URIs.`;
}
