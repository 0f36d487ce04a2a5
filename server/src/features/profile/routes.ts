import type { FastifyInstance } from 'fastify';
import { type Protect, protectedErrors } from '../oauth/index.ts';
import { Me, Profile } from './schemas.ts';
import type { Profiles } from './service.ts';

export function profileRoutes(
  app: FastifyInstance,
  { profiles, protect }: { profiles: Profiles; protect: Protect },
): void {
  app.route({
    method: 'GET',
    url: '/v1/me',
    ...protect({ scope: null, limit: 'read' }),
    schema: {
      operationId: 'getMe',
      summary: 'Who the token represents',
      description: 'Identifies the creator on whose behalf the app acts. Needs no scope, only a valid access token.',
      tags: ['Creator'],
      response: { 200: Me, ...protectedErrors(null) },
      responseExample: {
        id: 'crt_01kaxk2t5v7f9sd3n8q6w4y0zr',
        username: 'mali',
        display_name: 'Mali มะลิ',
        avatar_url: null,
        currency: 'THB',
        timezone: 'Asia/Bangkok',
        created_at: '2026-11-15T04:00:00.000Z',
        app: { client_id: 'app_01kaxk2t5w2m8r4c6x1z3b5d7f', name: 'Goal Bot' },
        scope: 'profile.read tips.read',
      },
    },
    handler: (request, reply) => reply.type('application/json; charset=utf-8').send(profiles.me(request.grant)),
  });

  app.route({
    method: 'GET',
    url: '/v1/profile',
    ...protect({ scope: 'profile.read', limit: 'read' }),
    schema: {
      operationId: 'getProfile',
      summary: 'The creator’s public profile',
      description: 'Public profile, social links and tip channels with their enabled state. Never an account number.',
      tags: ['Creator'],
      response: { 200: Profile, ...protectedErrors('profile.read') },
      responseExample: {
        id: 'crt_01kaxk2t5v7f9sd3n8q6w4y0zr',
        username: 'mali',
        display_name: 'Mali มะลิ',
        bio: 'Draws cats, live on weekends.',
        avatar_url: null,
        page_url: null,
        social_links: [{ platform: 'youtube', url: 'https://youtube.com/@mali' }],
        tip_channels: [
          { type: 'promptpay', name: 'PromptPay', enabled: true, url: 'https://pay.example/mali', note: null },
          { type: 'truemoney', name: 'TrueMoney Wallet', enabled: false, url: null, note: null },
          { type: 'bank_transfer', name: 'Bank transfer', enabled: false, url: null, note: null },
          { type: 'card', name: 'Card', enabled: false, url: null, note: null },
          { type: 'shopeepay', name: 'ShopeePay', enabled: false, url: null, note: null },
          { type: 'line_pay', name: 'LINE Pay', enabled: false, url: null, note: null },
        ],
      },
    },
    handler: (request) => profiles.profile(request.grant.creatorId),
  });
}
