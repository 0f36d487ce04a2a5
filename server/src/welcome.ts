import type { Runtime } from './runtime.ts';

/** As people call it in the repository, or where the package is installed. */
const command = import.meta.url.endsWith('.ts') ? 'npm run namjai --' : 'npx namjai';

/** The text for the terminal once the server listens: addresses and, in development, an example call. */
export async function welcome({ config, demo }: Runtime): Promise<string> {
  const lines = [
    '',
    '  Namjai น้ำใจ is up.',
    '',
    `  Pages      ${config.authUrl}`,
    `  API        ${config.baseUrl}/v1`,
    `  Reference  ${config.authUrl}/docs`,
  ];
  const world = config.development ? await demo.world() : undefined;
  if (world) {
    const token = await demo.accessToken(world);
    lines.push(
      '',
      `  A demo world is in the database (take it out with: ${command} demo remove).`,
      `  Sign in    ${world.username} / ${world.password}`,
      `  Demo app   client_id ${world.clientId}`,
      `             client_secret ${world.clientSecret}`,
    );
    if (token) lines.push('', '  Try it:', '', `curl -H "Authorization: Bearer ${token}" ${config.baseUrl}/v1/me`);
  }
  return `${lines.join('\n')}\n\n`;
}
