/** Example requests with the values of the developer's own app. */
export interface ExampleApp {
  readonly clientId: string;
  readonly redirectUri: string;
}

/** For a developer without an app. */
export const placeholderApp: ExampleApp = { clientId: 'CLIENT_ID', redirectUri: 'https://app.example/callback' };

export function authorizeExample(authUrl: string, { clientId, redirectUri }: ExampleApp): string {
  const query = `client_id=${clientId}&redirect_uri=${encodeURIComponent(redirectUri)}`;
  return `${authUrl}/oauth/authorize?${query}&scope=profile.read+tips.read&state=RANDOM`;
}

export function exchangeExample(baseUrl: string, { clientId, redirectUri }: ExampleApp): string {
  const body = {
    grant_type: 'authorization_code',
    client_id: clientId,
    client_secret: 'CLIENT_SECRET',
    code: 'CODE',
    redirect_uri: redirectUri,
  };
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return `curl ${baseUrl}/v1/oauth/token \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`;
}

export const meExample = (baseUrl: string, token: string): string =>
  `curl ${baseUrl}/v1/me -H 'Authorization: Bearer ${token}'`;

export const deviceExample = (baseUrl: string, clientId: string): string =>
  `curl ${baseUrl}/v1/oauth/device_authorization \\\n  -d client_id=${clientId} -d 'scope=profile.read tips.read'`;
