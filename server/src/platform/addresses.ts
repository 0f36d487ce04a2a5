import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where outgoing requests may go: public addresses and the ranges that the operator opened, nothing else. */
export interface AddressRules {
  mayReach(address: string): boolean;
  /** Whether the address is in a range that the operator opened, where plain http: is allowed. */
  isOpened(address: string): boolean;
}

/** A public address that leads to services inside the Azure cloud. */
const cloudOnly = new Set(['168.63.129.16']);

/** The only part of IPv6 that is allocated as public; the rest is reserved, local or translated. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

export function createAddressRules(openedRanges: readonly string[]): AddressRules {
  const opened = openedRanges.map((range) => {
    if (range.includes('/')) return ipaddr.parseCIDR(range);
    const address = ipaddr.parse(range);
    return [address, address.kind() === 'ipv4' ? 32 : 128] as const;
  });
  const isOpened = (address: string): boolean => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.parse(address);
    // An IPv4-mapped IPv6 address is not treated as the IPv4 address.
    return opened.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
  };
  return { isOpened, mayReach: (address) => isPublic(address) || isOpened(address) };
}

export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) || cloudOnly.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : true;
}

export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** A dual-stack socket reports IPv4 addresses as mapped IPv6 addresses. */
export const unmapped = (address: string): string => address.replace(/^::ffff:/, '');

/** Some proxies write the port of the client into X-Forwarded-For: 192.0.2.7:50123, [2001:db8::1]:50123. */
const withPort = /^(?:\[(?<ipv6>[^\]]+)\]|(?<ipv4>[^:]+)):\d+$/;

/**
 * A subscriber has one IPv4 address but 2^64 IPv6 addresses, so these count by their /64 network. A port does not count:
 * every connection has another one. A connection that is closed has no address any more, although the types of Fastify
 * say so.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return '';
  const { ipv4, ipv6 } = withPort.exec(address)?.groups ?? {};
  if (ipv4 !== undefined || ipv6 !== undefined) return networkOf(ipv4 ?? ipv6);
  const short = unmapped(address);
  if (isIP(short) === 4) return short;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}

/** Resolves to all addresses of a name; rejects if it has none. */
export type Resolve = (name: string) => Promise<string[]>;

/**
 * Asks the name servers directly. The system's resolver has few threads, and one slow name could block them for all.
 * So names in /etc/hosts are not known here, except localhost (RFC 6761).
 */
export function createResolve(): Resolve {
  return async (name) => {
    if (/(^|\.)localhost\.?$/i.test(name)) return ['127.0.0.1'];
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    const replies = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = replies.flatMap((reply) => (reply.status === 'fulfilled' ? reply.value : []));
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`${name} does not resolve`), { code: 'ENOTFOUND' });
  };
}
