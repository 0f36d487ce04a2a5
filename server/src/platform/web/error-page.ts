import { linkButton } from './blocks.ts';
import { type Html, html } from './html.ts';
import { type Lang, messages } from './i18n.ts';
import type { Page } from './layout.ts';

const words = messages({
  en: {
    title400: 'That request was not right',
    text400: 'The link or form is incomplete or out of date. Go back and try again.',
    title403: 'This is not allowed',
    text403: 'The page may have been open for too long, or you signed in anew since. Load it again and try once more.',
    title404: 'There is nothing here',
    text404: 'The address may be mistyped, or the page is gone.',
    title421: 'This address is not set up',
    text421: 'The server does not answer under this host name.',
    title429: 'That was a little too fast',
    text429: 'Too many attempts in a short time. Wait a moment, then try again.',
    title500: 'Something broke on our side',
    text500: 'It was nothing you did. Try again in a moment. If it keeps happening, tell the operator the ID below.',
    title502: 'Out of reach for a moment',
    text502: 'The service cannot reach its storage. Try again shortly.',
    request: 'Request ID: {id}',
    home: 'Go to the start page',
  },
  th: {
    title400: 'คำขอไม่ถูกต้อง',
    text400: 'ลิงก์หรือแบบฟอร์มไม่ครบถ้วนหรือหมดอายุแล้ว กรุณาย้อนกลับแล้วลองใหม่อีกครั้ง',
    title403: 'ไม่สามารถทำรายการนี้ได้',
    text403: 'หน้านี้อาจเปิดค้างไว้นานเกินไป หรือคุณเข้าสู่ระบบใหม่หลังจากนั้น กรุณาโหลดหน้านี้ใหม่แล้วลองอีกครั้ง',
    title404: 'ไม่พบหน้านี้',
    text404: 'ที่อยู่อาจพิมพ์ไม่ถูกต้อง หรือหน้านี้ถูกนำออกไปแล้ว',
    title421: 'ยังไม่ได้ตั้งค่าที่อยู่นี้',
    text421: 'เซิร์ฟเวอร์ยังไม่ได้ตั้งค่าให้ใช้งานผ่านชื่อโฮสต์นี้',
    title429: 'ลองหลายครั้งเกินไป',
    text429: 'มีการลองหลายครั้งในเวลาสั้น ๆ กรุณารอสักครู่แล้วลองใหม่อีกครั้ง',
    title500: 'ระบบเกิดข้อผิดพลาด',
    text500: 'ปัญหานี้ไม่ได้เกิดจากคุณ กรุณาลองใหม่อีกครั้งในอีกสักครู่ หากยังพบปัญหา โปรดแจ้งรหัสด้านล่างแก่ผู้ดูแลระบบ',
    title502: 'ระบบไม่พร้อมให้บริการชั่วคราว',
    text502: 'ขณะนี้ระบบเชื่อมต่อที่เก็บข้อมูลไม่ได้ กรุณาลองใหม่อีกครั้งในอีกสักครู่',
    request: 'รหัสคำขอ: {id}',
    home: 'ไปหน้าแรก',
  },
});

const known = [400, 403, 404, 421, 429, 500, 502] as const;

/** The page that people see instead of an error envelope. `detail` replaces the general text of the status. */
export function errorPage(
  page: Page,
  o: { status: number; lang: Lang; url: string; requestId: string; detail?: string },
): Html {
  const t = words(o.lang);
  const status = known.find((each) => each === o.status) ?? (o.status < 500 ? 400 : 500);
  const title = t(`title${status}`);
  const body = html`
<section class="card failure">
  <p class="status" aria-hidden="true">${o.status}</p>
  <h1>${title}</h1>
  <p>${o.detail ?? t(`text${status}`)}</p>
  <div class="actions">!${linkButton(t('home'), '/')}</div>
  <p class="hint">${t('request', { id: o.requestId })}</p>
</section>`;
  return page({ lang: o.lang, url: o.url, title, body, width: 'narrow' });
}
