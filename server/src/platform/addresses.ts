import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where outgoing requests may go. Everything is refused that is not plainly a public address. */
export interface AddressRules {
  /** A public address, or one of the ranges that the operator opened. */
  mayReach(address: string): boolean;
  /** In one of the ranges that the operator opened, where plain http: will do. */
  isOpened(address: string): boolean;
}

/** Public by its number, but answered inside the cloud that runs the machine. */
const cloudOnly = new Set(['168.63.129.16']);

/** What the Internet has handed out of IPv6 so far; the rest is reserved, local or translated. */
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
    // Kinds are never converted: a mapped address is not the address that it maps to.
    return opened.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
  };
  return { isOpened, mayReach: (address) => isPublic(address) || isOpened(address) };
}

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) || cloudOnly.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : true;
}

export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
