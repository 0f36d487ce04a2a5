import assert from 'node:assert/strict';
import { apiTable, guardCases } from '../../../test/api-cases.ts';
import { assertExactly } from '../../../test/assert-exactly.ts';
import { Me } from './schemas.ts';

apiTable('GET /v1/me', { url: '/v1/me' }, [
  {
    name: 'the creator, the app and what the token may do',
    scope: 'tips.read profile.read',
    status: 200,
    check: async (answer, { runtime }, { creatorId, username, clientId }) => {
      const app = await runtime.apps.byId(clientId);
      assert.deepEqual(answer.json(), {
        id: creatorId,
        username,
        display_name: username,
        avatar_url: null,
        currency: 'THB',
        timezone: 'Asia/Bangkok',
        created_at: answer.json().created_at,
        app: { client_id: clientId, name: app.name },
        scope: 'profile.read tips.read',
      });
      // It is written without the schema's serializer, which would leave out what the schema does not name.
      assertExactly(Me, answer.json());
      assert.match(answer.json().created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.match(clientId, /^app_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.match(creatorId, /^crt_[0-9a-hjkmnp-tv-z]{26}$/);
    },
  },
  { name: 'a token without scopes', scope: '', status: 200, check: (answer) => assert.equal(answer.json().scope, '') },
  {
    name: 'bearer in any case',
    status: 200,
    before: async (_app, { accessToken }) => ({ headers: { authorization: `bEaReR ${accessToken}` } }),
  },
  {
    name: 'a cookie means nothing',
    status: 401,
    code: 'token_missing',
    before: async (_app, { accessToken }) => ({ headers: { authorization: '', cookie: `namjai=${accessToken}` } }),
  },
  {
    name: 'a token in the query is no token',
    status: 401,
    code: 'token_missing',
    before: async (_app, { accessToken }) => ({
      url: `/v1/me?access_token=${accessToken}`,
      headers: { authorization: '' },
    }),
  },
  {
    name: 'a request id of the caller is not ours',
    headers: { 'x-request-id': 'mine' },
    status: 200,
    check: (answer) => assert.notEqual(answer.headers['x-request-id'], 'mine'),
  },
  {
    name: 'scopes that the grant has lost are gone from its older tokens',
    scope: 'profile.read tips.read',
    status: 200,
    before: async ({ runtime }, { creatorId, clientId }) =>
      void (await runtime.grants.addByOperator(creatorId, clientId, 'tips.read tips.create')),
    check: (answer) => assert.equal(answer.json().scope, 'tips.read'),
  },
  ...guardCases(null),
]);

const channels = ['promptpay', 'truemoney', 'bank_transfer', 'card', 'shopeepay', 'line_pay'];

apiTable('GET /v1/profile', { url: '/v1/profile' }, [
  {
    name: 'always all six channels in order',
    status: 200,
    before: async ({ runtime }, { creatorId }) =>
      void (await runtime.accounts.updateProfile(creatorId, {
        display_name: 'มะลิ <b>',
        bio: 'Draws cats',
        social_links: '[{"platform":"youtube","url":"https://youtube.com/@mali"}]',
        tip_channels: '["card","promptpay"]',
        channel_details: '{"card":{"url":"https://pay.example/","note":null},"line_pay":{"url":null,"note":"ask"}}',
        page_look: 'plain',
        page_public: 0,
      })),
    check: (answer, _app, { creatorId, username }) => {
      const profile = answer.json();
      assert.deepEqual(
        profile.tip_channels.map(({ type }: { type: string }) => type),
        channels,
      );
      assert.deepEqual(
        profile.tip_channels
          .filter(({ enabled }: { enabled: boolean }) => enabled)
          .map(({ type }: { type: string }) => type),
        ['promptpay', 'card'],
      );
      delete profile.tip_channels;
      assert.deepEqual(profile, {
        id: creatorId,
        username,
        display_name: 'มะลิ <b>',
        bio: 'Draws cats',
        avatar_url: null,
        page_url: null,
        social_links: [{ platform: 'youtube', url: 'https://youtube.com/@mali' }],
      });
    },
  },
  {
    name: 'a bio that was never written is null',
    status: 200,
    check: (answer) => assert.equal(answer.json().bio, null),
  },
  ...guardCases('profile.read'),
]);
