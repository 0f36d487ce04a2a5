import { type Call, isVariable, type Value, variablesOf } from './call.ts';
import { literal, type Notation } from './literal.ts';

/** Every escape of a JSON string is one of Python's. */
const quoted = (text: string): string => JSON.stringify(text);

const notation: Notation = {
  text: quoted,
  name: quoted,
  word: (value) => ({ true: 'True', false: 'False', null: 'None' })[String(value)] ?? '',
  variable: ({ variable }) => variable.toLowerCase(),
  indent: '    ',
  spaced: false,
  trailingComma: true,
};

/** With the standard library alone. It has no WebSocket: `undefined` for those. */
export function python(call: Call): string | undefined {
  if (call.kind === 'socket') return undefined;
  const names = variablesOf(call);
  const lines = call.kind === 'page' ? page(call) : request(call);
  const modules = ['json', 'os', 'base64', 'urllib.parse', 'urllib.request'].filter((name) =>
    [...lines, names.length > 0 ? 'os.environ' : ''].some((line) => line.includes(`${name}.`)),
  );
  return [
    ...modules.sort().map((name) => `import ${name}`),
    '',
    ...names.map((name) => `${name.toLowerCase()} = os.environ["${name}"]`),
    ...(names.length > 0 ? [''] : []),
    ...lines,
  ].join('\n');
}

function request(call: Call): string[] {
  const { method, body, access } = call;
  const options = [`${addressOf(call)},`];
  if (method !== 'GET' && !(method === 'POST' && body)) options.push(`method="${method}",`);
  const headers = headersOf(call);
  if (headers.length === 1) options.push(`headers={${headers[0]}},`);
  if (headers.length > 1) options.push('headers={', ...headers.map((header) => `    ${header},`), '},');
  if (body) {
    const value = literal(body.value, notation, '    ');
    options.push(`data=${body.form ? `urllib.parse.urlencode(${value})` : `json.dumps(${value})`}.encode(),`);
  }
  const credentials =
    access === 'app' ? ['credentials = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()'] : [];
  return [
    ...credentials,
    'request = urllib.request.Request(',
    ...options.map((line) => `    ${line}`),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...reading(call).map((line) => `    ${line}`),
  ];
}

function reading({ kind, answersJson }: Call): string[] {
  if (kind === 'stream') return ['for line in response:', '    print(line.decode().rstrip(), flush=True)'];
  return [answersJson ? 'print(json.load(response))' : 'print(response.status)'];
}

function headersOf({ access, headers, body }: Call): string[] {
  const authorization = {
    token: ['"Authorization": f"Bearer {token}"'],
    app: ['"Authorization": f"Basic {credentials}"'],
    body: [],
    nothing: [],
  }[access];
  return [
    ...authorization,
    ...Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${literal(header(value), notation)}`),
    ...(body && !body.form ? ['"Content-Type": "application/json"'] : []),
  ];
}

/** Headers are texts there. */
const header = (value: Value): Value => (typeof value === 'number' ? String(value) : value);

function addressOf({ server, path, query }: Call): string {
  const search = Object.entries(query).map(([name, value]) => `${name}=${inAddress(value)}`);
  const text = [server, ...path.map(inPath)].join('') + (search.length > 0 ? `?${search.join('&')}` : '');
  return `${/\{\w+\}/.test(text) ? 'f' : ''}${quoted(text)}`;
}

const inPath = (part: Value): string => (isVariable(part) ? `{${part.variable.toLowerCase()}}` : String(part));
const inAddress = (value: Value): string => (isVariable(value) ? inPath(value) : encodeURIComponent(String(value)));

/** The browser of the creator goes there, not the program. */
const page = ({ server, path, query }: Call): string[] => [
  `query = urllib.parse.urlencode(${literal(query, notation)})`,
  `print(f"${server}${path.map(inPath).join('')}?{query}")`,
];
