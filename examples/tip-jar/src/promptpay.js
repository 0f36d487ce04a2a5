import { generate } from 'promptparse';
import QRCode from 'qrcode';

/** The kinds of PromptPay ids that people have. */
const kinds = [
  { type: 'MSISDN', matches: (id) => /^0[689]\d{8}$/.test(id) },
  { type: 'NATID', matches: (id) => /^\d{13}$/.test(id) && checkDigit(id) === Number(id[12]) },
  { type: 'EWALLETID', matches: (id) => /^\d{15}$/.test(id) },
];

/** A phone number, national id or e-wallet id as digits; `null` for anything else. */
export function readPromptPay(text) {
  const id = text.replace(/[\s-]/g, '').replace(/^\+66/, '0');
  return kinds.some(({ matches }) => matches(id)) ? id : null;
}

export const maskPromptPay = (id) => `••• ${id.slice(-4)}`;

/** The text of a QR code for exactly this amount (EMVCo), that every Thai bank's app reads. */
export function promptPayText(id, amountMinor) {
  const { type } = kinds.find(({ matches }) => matches(id));
  return generate.anyId({ type, target: id, amount: amountMinor / 100 });
}

export const qrPicture = (text) => QRCode.toBuffer(text, { width: 600, margin: 4, errorCorrectionLevel: 'M' });

function checkDigit(id) {
  const sum = [...id.slice(0, 12)].reduce((total, digit, index) => total + Number(digit) * (13 - index), 0);
  return (11 - (sum % 11)) % 10;
}
