import type { Static } from 'typebox';
import { nullable } from '../../../platform/http/schema.ts';
import { Type } from '../../../platform/http/type.ts';

/** `null` and an empty text count as absent (RFC 6749, section 3.2). */
export const optionalText = (description: string, examples: string[] = []) =>
  Type.Optional(nullable(Type.String({ description, examples })));

export type OptionalText = ReturnType<typeof optionalText>;

export const exampleCredentials = { client_id: 'app_01kaxk2t5v7f9sd3n8q6w4y0zr', client_secret: 'njs_…' };

export const clientFields = {
  client_id: optionalText('The app; required unless HTTP Basic is used', [exampleCredentials.client_id]),
  client_secret: optionalText('Required unless HTTP Basic is used; a public app has none'),
};

export const TokenReference = Type.Object(
  {
    ...clientFields,
    token: optionalText('An access token or a refresh token; required'),
    token_type_hint: optionalText('Not needed: the kind is told by the token itself', ['refresh_token']),
  },
  { title: 'TokenReference' },
);

export const Introspection = Type.Object(
  {
    active: Type.Boolean({ description: 'False for a dead token, another app’s, or any other text; then alone' }),
    scope: Type.Optional(Type.String({ description: 'What it may do right now' })),
    client_id: Type.Optional(Type.String()),
    username: Type.Optional(Type.String()),
    token_type: Type.Optional(Type.Literal('Bearer', { description: 'Of access tokens only' })),
    exp: Type.Optional(Type.Integer({ description: 'End, in seconds since 1970' })),
    iat: Type.Optional(Type.Integer()),
    sub: Type.Optional(Type.String({ description: 'Id of the creator' })),
    aud: Type.Optional(Type.String()),
    iss: Type.Optional(Type.String()),
  },
  { title: 'Introspection' },
);

export const OAuthErrorBody = Type.Object(
  {
    error: Type.String({ description: 'Code of RFC 6749' }),
    error_description: Type.String({ description: 'What went wrong and what to do' }),
  },
  { title: 'OAuthError' },
);

export type Introspection = Static<typeof Introspection>;
