import ipaddr from 'ipaddr.js';

/** A home has one IPv4 address but 2^64 IPv6 ones, so those count by their network. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}
