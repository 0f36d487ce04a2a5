import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSigned, type Vault } from '../vault.ts';
import type { Tone } from './blocks.ts';
import { cookieValue } from './cookies.ts';

/** One message for the page that follows a redirect, carried by a signed cookie. */
export interface Flash {
  tone: Tone;
  text: string;
}

export function createFlash({ vault, secure }: { vault: Vault; secure: boolean }) {
  const name = secure ? '__Host-namjai-flash' : 'namjai-flash';
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  const sign = (text: string) => vault.sign('flash', text).toString('base64url');
  return {
    set(reply: FastifyReply, flash: Flash): void {
      const text = Buffer.from(JSON.stringify(flash)).toString('base64url');
      reply.header('set-cookie', fastifyCookie.serialize(name, `${text}.${sign(text)}`, { ...options, maxAge: 60 }));
    },
    /** Returns the message once: the response removes the cookie. */
    take(request: FastifyRequest, reply: FastifyReply): Flash | undefined {
      const [text, signature] = cookieValue(request.headers.cookie, name)?.split('.') ?? [];
      if (!text || !signature) return undefined;
      reply.header('set-cookie', fastifyCookie.serialize(name, '', { ...options, maxAge: 0 }));
      return isSigned(vault, 'flash', text, signature)
        ? JSON.parse(Buffer.from(text, 'base64url').toString())
        : undefined;
    },
  };
}
