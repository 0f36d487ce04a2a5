import { messages } from '../../platform/web/i18n.ts';

export const homeWords = messages({
  en: {
    title: 'Tips that light up your stream',
    text: 'Namjai (น้ำใจ, “generosity”) puts every tip on your stream the moment it arrives, keeps your history exact, and belongs to whoever runs it: no cut, no lock-in.',
    signUp: 'Create an account',
    signIn: 'Sign in',
    pictureAlt: 'An alert over a game: a supporter’s name, ฿555.00 and a message in Thai',
    overlay: 'Alerts with your own look',
    overlayText: 'Pictures, sounds, letters and movement by amount, in OBS within five minutes. Messages read aloud.',
    page: 'A page for your viewers',
    pageText: 'Every way to tip you on one page, with a QR code, made for phones.',
    apps: 'Apps only as far as you allow',
    appsText: 'Bots and tools work with your tips by your permission, and lose it with one click.',
    developers: 'Building something? There is a REST API with OAuth 2.0, webhooks and live events.',
    docs: 'Read the docs',
  },
  th: {
    title: 'ให้ทุกทิปสว่างบนสตรีมของคุณ',
    text: 'Namjai (น้ำใจ) แสดงทุกทิปบนสตรีมทันทีที่มาถึง เก็บประวัติได้ตรงทุกบาท และเป็นของผู้ที่ติดตั้งเอง ไม่หักส่วนแบ่ง ไม่ผูกมัด',
    signUp: 'สร้างบัญชี',
    signIn: 'เข้าสู่ระบบ',
    pictureAlt: 'การแจ้งเตือนบนภาพเกม มีชื่อผู้สนับสนุน ฿555.00 และข้อความภาษาไทย',
    overlay: 'การแจ้งเตือนในแบบของคุณ',
    overlayText: 'รูป เสียง ตัวอักษร และการเคลื่อนไหวตามจำนวนเงิน ใช้ใน OBS ได้ภายในห้านาที พร้อมอ่านข้อความออกเสียง',
    page: 'หน้าสำหรับผู้ชมของคุณ',
    pageText: 'รวมทุกช่องทางส่งทิปไว้ในหน้าเดียว มีคิวอาร์โค้ด ใช้ง่ายบนมือถือ',
    apps: 'แอปทำได้เท่าที่คุณอนุญาต',
    appsText: 'บอทและเครื่องมือใช้ทิปของคุณได้เมื่อคุณอนุญาต และยกเลิกได้ในคลิกเดียว',
    developers: 'กำลังสร้างอะไรอยู่หรือเปล่า เรามี REST API พร้อม OAuth 2.0 เว็บฮุก และอีเวนต์สด',
    docs: 'อ่านเอกสาร',
  },
});
