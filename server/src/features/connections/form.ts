import type { FastifyRequest } from 'fastify';
import { hasControls } from '../../platform/names.ts';
import { formText } from '../../platform/web/form-body.ts';
import { readMoney } from '../../platform/web/format.ts';
import { type Connection, maxAmountMinor, maxLabel, maxToken } from './service.ts';
import type { T } from './words.ts';

/** The fields as typed. A stored address or token is never filled in: both are secrets. */
export interface Typed {
  readonly label: string;
  readonly url: string;
  readonly token: string;
  readonly minAmount: string;
}

export type Wrong = { readonly [Name in keyof Typed]?: string };

export const emptyForm: Typed = { label: '', url: '', token: '', minAmount: '' };

export const toTyped = ({ label, minAmountMinor }: Connection): Typed => ({
  ...emptyForm,
  label: label ?? '',
  minAmount: minAmountMinor > 0 ? String(minAmountMinor / 100) : '',
});

export const readTyped = (request: FastifyRequest): Typed => ({
  label: formText(request, 'label').trim(),
  url: formText(request, 'url').trim(),
  token: formText(request, 'token').trim(),
  minAmount: formText(request, 'minAmount').trim(),
});

export const isLabel = (text: string): boolean => [...text].length <= maxLabel && !hasControls(text);

/** In satang, 0 for none; `undefined` if the text is no amount. */
export function readAmount(text: string): number | undefined {
  const minor = text === '' ? 0 : readMoney(text);
  return minor !== undefined && minor <= maxAmountMinor ? minor : undefined;
}

export interface Input {
  readonly label: string | null;
  readonly minAmountMinor: number;
  /** Left out: as before. */
  readonly url?: string;
  readonly verificationToken?: string;
}

/** `noUrl`: what to say if the address is missing; left out where it may be. */
export function parse(typed: Typed, noUrl: string | undefined, t: T): Input | { readonly wrong: Wrong } {
  const { label, url, token, minAmount } = typed;
  const minAmountMinor = readAmount(minAmount);
  const wrong: Wrong = {
    ...(isLabel(label) ? {} : { label: t('labelWrong', { most: maxLabel }) }),
    ...(noUrl !== undefined && url === '' ? { url: noUrl } : {}),
    ...(token.length <= maxToken && !hasControls(token) ? {} : { token: t('tokenWrong', { most: maxToken }) }),
    ...(minAmountMinor === undefined ? { minAmount: t('minAmountWrong') } : {}),
  };
  if (Object.keys(wrong).length > 0 || minAmountMinor === undefined) return { wrong };
  return {
    label: label === '' ? null : label,
    minAmountMinor,
    ...(url === '' ? {} : { url }),
    ...(token === '' ? {} : { verificationToken: token }),
  };
}
