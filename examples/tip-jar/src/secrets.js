import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** What the app hides, signs and makes up. Every purpose has a key of its own, derived from TIP_JAR_KEY. */
export function createSecrets(key) {
  const derive = (purpose) => Buffer.from(hkdfSync('sha256', key, '', `tip-jar ${purpose}`, 32));
  const sealKey = derive('seal');
  const formKey = derive('forms');

  return {
    /** AES-256-GCM. `context` says where the text belongs: copied to another row it does not open. */
    seal(text, context) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64url');
      const cipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, 12)).setAAD(Buffer.from(context));
      cipher.setAuthTag(bytes.subarray(12, 28));
      return cipher.update(bytes.subarray(28), undefined, 'utf8') + cipher.final('utf8');
    },
    /** The token of a session's forms: another site cannot know it. */
    formToken: (session) => createHmac('sha256', formKey).update(session).digest('base64url'),
    oauthKey: derive('oauth'),
  };
}

export const randomToken = () => randomBytes(24).toString('base64url');
export const sha256 = (text) => createHash('sha256').update(text).digest('base64url');
export const sameText = (a, b) =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
