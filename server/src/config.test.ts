import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, describeSettings, type Environment, readConfig } from './config.ts';

const production = {
  NODE_ENV: 'production',
  HOST: '0.0.0.0',
  BASE_URL: 'https://api.tips.example',
  AUTH_URL: 'https://tips.example',
  SECRET_KEY: 'x'.repeat(32),
};

const problems = (env: Environment): readonly string[] => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
};

test('nothing set is development on this machine', () => {
  const config = readConfig({});
  assert.equal(config.development, true);
  assert.equal(config.baseUrl, 'http://localhost:8080');
  assert.equal(config.tipCapMinor, 10_000_000);
  assert.equal(config.signup, 'open');
  assert.equal(readConfig({ PORT: '9000' }).authUrl, 'http://localhost:9000');
});

test('development needs loopback everywhere and no production', () => {
  assert.equal(readConfig(production).development, false);
  assert.equal(readConfig(production).signup, 'closed');
  const loopback = {
    ...production,
    HOST: '127.0.0.1',
    BASE_URL: 'http://localhost:8080',
    AUTH_URL: 'http://127.0.0.1:8080',
  };
  assert.equal(readConfig(loopback).development, false, 'NODE_ENV=production');
  assert.equal(readConfig({ ...loopback, NODE_ENV: 'test' }).development, true);
  assert.equal(readConfig({ ...loopback, NODE_ENV: 'test', HOST: '0.0.0.0' }).development, false);
});

const wrong: [name: string, env: Environment, line: RegExp][] = [
  ['a port that is none', { PORT: '70000' }, /^PORT must be a whole number from 1 to 65535$/],
  ['a path in BASE_URL', { BASE_URL: 'https://a.example/api' }, /^BASE_URL must be an address without a path/],
  ['a database of another kind', { DATABASE_URL: 'mysql://x' }, /^DATABASE_URL must be sqlite:FILE or postgres/],
  ['PostgreSQL without Redis', { DATABASE_URL: 'postgres://h/d' }, /^REDIS_URL is needed/],
  ['Redis without PostgreSQL', { REDIS_URL: 'redis://h' }, /^REDIS_URL goes with a PostgreSQL/],
  ['a short SECRET_KEY', { SECRET_KEY: 'x'.repeat(31) }, /^SECRET_KEY must have at least 32 characters/],
  ['no SECRET_KEY in production', { ...production, SECRET_KEY: '' }, /^SECRET_KEY is required outside development/],
  [
    'http in production',
    { ...production, BASE_URL: 'http://api.tips.example' },
    /^BASE_URL must be https: outside development/,
  ],
  ['a time zone that is none', { TIME_ZONE: 'Asia/Bangkoc' }, /^TIME_ZONE must be a time zone name/],
  ['a cap of nothing', { TIP_CAP_THB: '0' }, /^TIP_CAP_THB must be an amount in baht/],
  ['a cap of three decimals', { TIP_CAP_THB: '1.005' }, /^TIP_CAP_THB must be/],
  ['a pattern that is none', { TIP_NAME_PATTERN: '[' }, /^TIP_NAME_PATTERN must be a regular expression/],
  ['a range that is none', { TRUST_PROXY: '10.0.0.0/8, 10.0.0.0/33' }, /^TRUST_PROXY has "10.0.0.0\/33"/],
  ['a sign-up that is none', { SIGNUP: 'maybe' }, /^SIGNUP must be one of open, closed$/],
  ['a log level that is none', { LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of/],
];

for (const [name, env, line] of wrong)
  test(`${name} is one clear line`, () => {
    assert.equal(problems(env).length, 1, problems(env).join('\n'));
    assert.match(problems(env)[0] ?? '', line);
  });

test('every wrong value has its line', () => {
  assert.equal(problems({ PORT: 'x', TIME_ZONE: 'x', SIGNUP: 'x' }).length, 3);
});

test('check-config shows where a value comes from and no secret', () => {
  const list = describeSettings({
    PORT: '9000',
    SECRET_KEY: 'very secret',
    DATABASE_URL: 'postgres://user:password@h/d',
  });
  const by = (name: string) => list.find((setting) => setting.name === name);
  assert.deepEqual([by('PORT')?.value, by('PORT')?.source], ['9000', 'environment']);
  assert.deepEqual([by('HOST')?.value, by('HOST')?.source], ['127.0.0.1', 'default']);
  assert.deepEqual([by('METRICS_PORT')?.value, by('METRICS_PORT')?.source], [null, 'not set']);
  const withPort = describeSettings({ PORT: '9000' }, readConfig({ PORT: '9000' }));
  for (const [name, value] of [
    ['BASE_URL', 'http://localhost:9000'],
    ['AUTH_URL', 'http://localhost:9000'],
    ['SIGNUP', 'open'],
  ])
    assert.deepEqual(
      withPort.filter((setting) => setting.name === name).map(({ value, source }) => [value, source]),
      [[value, 'default']],
    );
  assert.doesNotMatch(JSON.stringify(list), /very secret|password@/);
});
