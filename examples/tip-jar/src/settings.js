/** All settings come from the environment; `npm start` reads the file `.env` as well. */

const required = {
  NAMJAI_CLIENT_ID: 'the client ID of your app, from the developer portal of Namjai',
  NAMJAI_CLIENT_SECRET: 'the client secret of your app',
  WEBHOOK_SECRET: 'the secret of the webhook that leads to TIP_JAR_URL/webhooks, whsec_ and base64',
  TIP_JAR_KEY: 'at least 32 random characters that encrypt what is stored; make one with: openssl rand -base64 32',
};

export function readSettings(env) {
  const wrong = Object.entries(required).flatMap(([name, what]) => (env[name] ? [] : [`${name} is missing: ${what}`]));
  if (env.TIP_JAR_KEY && env.TIP_JAR_KEY.length < 32) wrong.push(`TIP_JAR_KEY is too short: ${required.TIP_JAR_KEY}`);
  const url = new URL(env.TIP_JAR_URL || 'http://localhost:4000');
  if (url.protocol !== 'https:' && url.hostname !== 'localhost') wrong.push('TIP_JAR_URL must begin with https://');
  if (wrong.length > 0) throw new Error(`The tip jar cannot start.\n  ${wrong.join('\n  ')}`);
  return {
    namjaiUrl: env.NAMJAI_URL || 'http://localhost:8080',
    clientId: env.NAMJAI_CLIENT_ID,
    clientSecret: env.NAMJAI_CLIENT_SECRET,
    webhookSecret: env.WEBHOOK_SECRET,
    key: env.TIP_JAR_KEY,
    /** Without it the callback of a slip-checking service is switched off. */
    slipSecret: env.SLIP_SECRET || null,
    origin: url.origin,
    host: env.HOST || '127.0.0.1',
    port: Number(env.PORT || url.port || 4000),
    /** Behind a proxy of your own, that writes X-Forwarded-For. */
    trustProxy: env.TRUST_PROXY === '1',
    database: env.DATABASE || 'tip-jar.db',
  };
}
