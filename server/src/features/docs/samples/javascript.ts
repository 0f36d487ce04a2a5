import { type Call, isVariable, type Value, variablesOf } from './call.ts';
import { literal, type Notation } from './literal.ts';

const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

const notation: Notation = {
  text: quoted,
  name: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name)),
  word: String,
  variable: ({ variable }) => variable,
  indent: '  ',
  spaced: true,
  trailingComma: true,
};

/** The SDK makes `state` and the challenge, and keeps them. */
const authorize = ({ server, query }: Call): string =>
  [
    "import { createOAuth, fileStore } from '@namjai/sdk/oauth';",
    '',
    environment(['CLIENT_ID', 'CLIENT_SECRET', 'ENCRYPTION_KEY']),
    'const oauth = createOAuth({',
    `  baseUrl: ${quoted(server)},`,
    '  clientId: CLIENT_ID,',
    '  clientSecret: CLIENT_SECRET,',
    `  redirectUri: ${literal(query.redirect_uri ?? '', notation)},`,
    `  scope: ${literal(query.scope ?? '', notation)},`,
    "  store: fileStore('connections.json'),",
    '  encryptionKey: ENCRYPTION_KEY,',
    '});',
    '',
    "const { url } = await oauth.authorize('id-of-the-browser-session');",
    'console.log(url);',
  ].join('\n');

/** The SDK's call for an operation. Operations that are not here are called by `fetch`. */
const sdkCalls: Readonly<Record<string, (call: Call) => string>> = {
  getMe: () => 'console.log(await namjai.me());',
  getProfile: () => 'console.log(await namjai.profile());',
  listTips: ({ query }) =>
    `for await (const tip of namjai.tips.list(${arguments_(query)})) console.log(tip.name, tip.amount);`,
  getTip: ({ path }) => `console.log(await namjai.tips.get(${lastOf(path)}));`,
  getTipTrace: ({ path }) => `console.log(await namjai.tips.trace(${lastOf(path)}));`,
  getTipStats: () => 'console.log(await namjai.tips.stats());',
  createTip: ({ body, headers }) =>
    [
      'const tip = await namjai.tips.create(',
      `  ${literal(body?.value ?? {}, notation, '  ')},`,
      `  ${literal({ idempotencyKey: headers['Idempotency-Key'] ?? '' }, notation)},`,
      ');\nconsole.log(tip);',
    ].join('\n'),
  voidTip: ({ path, body }) =>
    `console.log(await namjai.tips.void(${lastOf(path)}, ${literal(body?.value ?? {}, notation)}));`,
  listGoals: () => 'console.log(await namjai.goals());',
  sendAlert: ({ body }) => `console.log(await namjai.alerts.send(${literal(body?.value ?? {}, notation)}));`,
  listEvents: ({ query }) => `console.log(await namjai.events.list(${arguments_(query)}));`,
  getSocketToken: () => 'console.log(await namjai.socketToken());',
  openSocket: () =>
    [
      'namjai.events.connect({',
      '  onStatus: (status) => console.log(status),',
      '  onEvent: (event) => console.log(event),',
      '});',
    ].join('\n'),
};

const arguments_ = (query: Call['query']): string => (Object.keys(query).length === 0 ? '' : literal(query, notation));

const lastOf = (path: Call['path']): string => literal(path.findLast(isVariable) ?? '', notation);

export function javascript(call: Call): string {
  if (call.kind === 'page') return authorize(call);
  const sdk = sdkCalls[call.operationId]?.(call);
  return sdk === undefined ? plain(call) : withSdk(call, sdk);
}

const withSdk = (call: Call, text: string): string =>
  [
    "import { createClient } from '@namjai/sdk';",
    '',
    environment(['TOKEN', ...variablesOf(call).filter((name) => !name.endsWith('TOKEN'))]),
    `const namjai = createClient({ baseUrl: ${quoted(call.server)}, accessToken: TOKEN });`,
    '',
    text,
  ].join('\n');

const environment = (names: readonly string[]): string =>
  names.length === 0 ? '' : `const { ${names.join(', ')} } = process.env;`;

function plain(call: Call): string {
  const { kind } = call;
  const start = environment(variablesOf(call));
  const lines = kind === 'socket' ? socket(call) : request(call);
  return [...(start === '' ? [] : [start, '']), ...lines].join('\n');
}

function request(call: Call): string[] {
  const { method, body, kind } = call;
  const options: string[] = [];
  if (method !== 'GET') options.push(`method: '${method}',`);
  const headers = headersOf(call);
  if (headers.length === 1) options.push(`headers: { ${headers[0]} },`);
  if (headers.length > 1) options.push('headers: {', ...headers.map((header) => `  ${header},`), '},');
  if (body) {
    const value = literal(body.value, notation, '  ');
    options.push(`body: ${body.form ? `new URLSearchParams(${value})` : `JSON.stringify(${value})`},`);
  }
  const tail = options.length === 0 ? '' : `, {\n${options.map((line) => `  ${line}\n`).join('')}}`;
  const end =
    kind === 'stream'
      ? ['for await (const text of response.body.pipeThrough(new TextDecoderStream())) {', '  console.log(text);', '}']
      : [`console.log(response.status${call.answersJson ? ', await response.json()' : ''});`];
  return [`const response = await fetch(${addressOf(call)}${tail});`, ...end];
}

function headersOf({ access, headers, body }: Call): string[] {
  const authorization = {
    token: [`Authorization: \`Bearer \${TOKEN}\``],
    app: [`Authorization: \`Basic \${btoa(\`\${CLIENT_ID}:\${CLIENT_SECRET}\`)}\``],
    body: [],
    nothing: [],
  }[access];
  return [
    ...authorization,
    ...Object.entries(headers).map(([name, value]) => `${notation.name(name)}: ${literal(value, notation)}`),
    ...(body && !body.form ? ["'Content-Type': 'application/json'"] : []),
  ];
}

function addressOf({ server, path, query }: Call): string {
  const search = Object.entries(query).map(([name, value]) => `${name}=${inAddress(value)}`);
  const text = [server, ...path.map(inPath)].join('') + (search.length > 0 ? `?${search.join('&')}` : '');
  return text.includes('${') ? `\`${text}\`` : quoted(text);
}

const inPath = (part: Value): string => (isVariable(part) ? `\${${part.variable}}` : String(part));
const inAddress = (value: Value): string =>
  isVariable(value) ? `\${${value.variable}}` : encodeURIComponent(String(value));

const socket = (call: Call): string[] => [
  `const socket = new WebSocket(${addressOf({ ...call, server: call.server.replace(/^http/, 'ws') })}, {`,
  `  headers: { ${headersOf(call).join(', ')} },`,
  '});',
  'socket.onmessage = ({ data }) => console.log(data);',
];
