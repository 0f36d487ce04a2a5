import { type Call, isVariable, type Value } from './call.ts';
import { literal, type Notation } from './literal.ts';

const shell = (value: Value): string => (isVariable(value) ? `$${value.variable}` : String(value));
const encoded = (value: Value): string =>
  isVariable(value) ? `$${value.variable}` : encodeURIComponent(String(value));

/** A command to paste. */
export function curl(call: Call): string {
  const { kind, method, body } = call;
  if (kind === 'page')
    return [`curl -iG "${call.server}${call.path.map(shell).join('')}"`, ...form(call.query)].join(' \\\n  ');
  const query = Object.entries(call.query).map(([name, value]) => `${name}=${encoded(value)}`);
  if (kind === 'socket' && call.access !== 'app') query.push('token=$SOCKET_TOKEN');
  const address = `${call.server}${call.path.map(shell).join('')}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const options = { call: '', stream: '-N ', socket: '-iN --http1.1 ' }[kind];
  const verb = method === 'GET' || (method === 'POST' && body) ? '' : `-X ${method} `;
  return [
    `curl ${options}${verb}"${address}"`,
    ...(call.access === 'token' ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(call.access === 'app' ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : []),
    ...Object.entries(call.headers).map(([name, value]) => `-H "${name}: ${shell(value)}"`),
    ...(kind === 'socket' ? upgrade : []),
    ...(body ? (body.form ? form(body.value) : json(body.value)) : []),
  ].join(' \\\n  ');
}

/** Shows the frames as they come; any key will do. */
const upgrade = [
  '-H "Connection: Upgrade" -H "Upgrade: websocket"',
  '-H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="',
];

const form = (fields: Readonly<Record<string, Value>>): string[] =>
  Object.entries(fields).map(([name, value]) =>
    isVariable(value)
      ? `-d "${name}=${shell(value)}"`
      : /^[\w.~-]*$/.test(shell(value))
        ? `-d ${name}=${shell(value)}`
        : `--data-urlencode "${name}=${shell(value)}"`,
  );

const notation: Notation = {
  text: (text) => JSON.stringify(text),
  name: (name) => JSON.stringify(name),
  word: String,
  variable: ({ variable }) => `"'"$${variable}"'"`,
  indent: '  ',
  spaced: false,
  trailingComma: false,
};

const json = (value: Value): string[] => {
  const text = literal(value, { ...notation, text: (each) => notation.text(each).replaceAll("'", `'\\''`) }, '  ');
  return ['-H "Content-Type: application/json"', `-d '${text}'`];
};
