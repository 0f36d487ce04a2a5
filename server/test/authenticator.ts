/** A passkey in software (WebAuthn level 3, ES256) that can lie about anything that it signs. */
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

export interface Lies {
  origin?: string;
  rpId?: string;
  userVerified?: boolean;
  counter?: number;
  /** In place of no attestation: its format, and its statement as CBOR. */
  attestation?: { format: string; statement: Buffer };
  transports?: unknown;
}

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest();

export function createAuthenticator(authUrl: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(16);
  let counter = 0;

  const clientData = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: lies.origin ?? authUrl, crossOrigin: false }));

  function authenticatorData(lies: Lies, attested: Buffer = Buffer.alloc(0)): Buffer {
    const present = 0x01;
    const verified = lies.userVerified === false ? 0 : 0x04;
    const count = Buffer.alloc(4);
    counter += 1;
    count.writeUInt32BE(lies.counter ?? counter);
    const flags = Buffer.from([present | verified | (attested.length > 0 ? 0x40 : 0)]);
    return Buffer.concat([sha256(lies.rpId ?? new URL(authUrl).hostname), flags, count, attested]);
  }

  const answer = (response: Record<string, unknown>): string =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response,
    });

  /** The public key as COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
  function coseKey(): Buffer {
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const bytes = (text: string) => Buffer.concat([Buffer.from([0x58, 0x20]), Buffer.from(text, 'base64url')]);
    return Buffer.concat([
      Buffer.from('a5010203262001', 'hex'),
      Buffer.from([0x21]),
      bytes(x),
      Buffer.from([0x22]),
      bytes(y),
    ]);
  }

  return {
    /** The answer to registration options, with an attestation that attests nothing. */
    create(challenge: string, lies: Lies = {}): string {
      const { format, statement } = lies.attestation ?? { format: 'none', statement: Buffer.from([0xa0]) };
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey()]);
      const data = authenticatorData(lies, attested);
      const attestation = Buffer.concat([
        Buffer.from([0xa3, 0x63]),
        Buffer.from('fmt'),
        Buffer.from([0x60 + format.length]),
        Buffer.from(format),
        Buffer.from([0x67]),
        Buffer.from('attStmt'),
        statement,
        Buffer.from([0x68]),
        Buffer.from('authData'),
        Buffer.from([0x58, data.length]),
        data,
      ]);
      return answer({
        clientDataJSON: clientData('webauthn.create', challenge, lies).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: lies.transports,
      });
    },

    /** The answer to sign-in options. */
    get(challenge: string, lies: Lies = {}): string {
      const [client, data] = [clientData('webauthn.get', challenge, lies), authenticatorData(lies)];
      const signature = createSign('sha256').update(data).update(sha256(client)).sign(privateKey);
      return answer({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
      });
    },
  };
}
